"""Repeat the published experiments of the paper, figure by figure.

study           runs a whole study and writes its report
runner, cases   runs the cases of a study on all cores, and resumes an interrupted one
cities          the data sets, cut and profiled like in the paper
figures/        one module per figure: its cases and its records
claims          which claims of the paper, and of ours, hold
balance_claims  the claims about people at each target
verdicts        decides a claim by the interval of a difference
side_by_side    several finished studies in one report
uploads         campaigns in which a user reports several places
"""
