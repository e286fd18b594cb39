"""The command line: the only place that sees both ends of the flow."""
