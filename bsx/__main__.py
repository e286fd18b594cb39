"""``python -m bsx`` is the command line."""

from bsx.cli.main import run

if __name__ == "__main__":
    run()
