"""The registry: YAML files as strictly validated entries, overlays, schemas, languages."""
