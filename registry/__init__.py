"""Registry data as YAML files: languages, models, architecture families, rescaling baselines, words of perturbations.

Nothing here is code; `bsx.catalog.catalog` reads and validates it. The folder is installed as ``bsx.registry``.
"""
