"""Maps, charts and self-contained reports: the only room that draws.

notebook.py shows values without drawing where matplotlib is missing; the other modules need the extra `plots`.
"""
