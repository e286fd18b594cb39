"""How results look: numbers, tables as text, Markdown, LaTeX, CSV and HTML, pictures, and what notebooks show."""
