"""Whether metrics can be fooled: pairs and triples of sentences."""
