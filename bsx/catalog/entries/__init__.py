"""What the registry's YAML files may say: strictly validated, frozen entries.

An unknown, missing or contradictory field is an error that names the file and the field: a typo in a registry must
never change a score in silence.
"""
