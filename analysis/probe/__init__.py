"""What the layers of a model know."""
