"""Settings of jobs, each written once: keywords in Python, options of the command line, and what they may be."""
