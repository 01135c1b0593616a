"""Maps, charts and self-contained reports: the only room that draws."""
