"""``python -m bsx`` is the command line."""

import sys
from pathlib import Path

from bsx.cli.main import run

if __name__ == "__main__":
    # Python put the current folder first: what lies among somebody's data is no module, unless bsx itself is there.
    first = Path(sys.path[0]).resolve()
    if not sys.flags.safe_path and first == Path.cwd() != Path(__file__).resolve().parents[1]:
        del sys.path[0]
    run()
