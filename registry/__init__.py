"""Registry data: languages, models, architecture families and rescaling baselines as YAML files.

Nothing here is code; `bsx.catalog.catalog` reads and validates it. The folder is installed as ``bsx.registry``.
"""
