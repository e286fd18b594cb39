"""What every room uses: optional packages, memory, provenance, settings, progress, folders, near names."""
