"""The command line: the only place that sees both ends of the flow."""

from bsx.support.environment import leave_working_folder

leave_working_folder()  # before any command imports anything
