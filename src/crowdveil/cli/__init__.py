"""The command line: one file per verb, which parses options, calls the library and prints what it found."""

from crowdveil.cli.app import app, main

__all__ = ["app", "main"]
