"""The same scoring by other processes: of a cluster, of an engine, one a device."""
