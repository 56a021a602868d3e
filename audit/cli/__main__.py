"""`python -m audit.cli`: the command line where the console script is not installed."""

from audit.cli import main

if __name__ == "__main__":
    main(prog_name="audit")
