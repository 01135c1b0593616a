"""Compute the paper's results in closed form.

bounds          Lemma 2 and the corrected Lemma 5: what no private policy can exceed
theorem1        the optimum for one target while probabilities are small
closed_form     a private policy that is optimal in the limit of dense cells
"""
