"""A child that says its number and dies, until it is told to end."""

import os
import sys

sys.stdout.write(f"{os.getpid()}\n")
