"""The command line: one file per verb."""

from crowdveil.cli.app import app, main

__all__ = ["app", "main"]
