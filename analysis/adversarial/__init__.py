"""Whether metrics can be fooled: paraphrase pairs, triples, perturbations."""
