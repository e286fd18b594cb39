"""How well metrics agree with human judgments: scores of a table, or computed here and now, beside human scores."""
