"""How often tests err and intervals cover, in simulated worlds whose truth is known: results.md."""
