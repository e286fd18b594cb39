"""The page in the browser: files in, metrics chosen, runs watched; it calls what the command line calls.

Only `bsx.ui.serving` and `bsx.ui.workspace` may be imported where the packages of the extra ``ui`` are missing.
"""
