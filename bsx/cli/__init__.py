"""The command line: the only place that sees both ends of the flow."""

import sys

from bsx.support.environment import import_path

sys.path[:] = import_path()  # before any command imports anything: nothing from the current folder
