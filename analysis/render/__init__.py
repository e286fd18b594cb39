"""How numbers and tables look: text, LaTeX."""
