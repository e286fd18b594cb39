"""Which model for which language, and its files on this machine or a hub."""
