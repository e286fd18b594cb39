"""Word risks: which words of a text are probably wrong, told from an encoder's vectors of it and of another text."""
