"""Whether systems are different: tests and intervals of their scores."""
