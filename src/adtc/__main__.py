"""Run the command line as ``python -m adtc``."""

from adtc.cli import main

if __name__ == "__main__":
    main(prog_name="adtc")
