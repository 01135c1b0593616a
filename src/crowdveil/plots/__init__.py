"""Maps, charts and self-contained reports: the only room that draws."""

from crowdveil.extras import require_extra

require_extra("drawing", "plots")  # before the modules below import matplotlib
