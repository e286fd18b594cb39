"""Example data that travels with the package; see DATA_CARD.md beside this file."""
