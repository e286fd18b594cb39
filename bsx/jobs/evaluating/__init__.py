"""How well metrics agree with people: scores of a table, or computed here and now, beside human scores."""
