"""Reports that a person wants to read: one HTML file, or Markdown, from tables of scores and documents of results."""
