"""``python -m bsx`` is the command line."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the working folder, which `-m` puts first: what lies there is data, not code

from bsx.cli.main import run

if __name__ == "__main__":
    run()
