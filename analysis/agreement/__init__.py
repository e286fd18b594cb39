"""How well metrics agree with people, and tests between systems."""
