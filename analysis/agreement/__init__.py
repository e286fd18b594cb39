"""How well metrics agree with human judgments, and tests between systems."""
