"""`python -m crowdveil` is the command line."""

from crowdveil.cli import main

if __name__ == "__main__":
    main()
