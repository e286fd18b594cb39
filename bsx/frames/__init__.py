"""Opening a `bsx.data.frame.Frame`: settings, texts and test sets, and scores that are computed on them."""
