"""How numbers and tables look: text, Markdown, LaTeX, CSV."""
