"""How well metrics agree with human judgments."""
