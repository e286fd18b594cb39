"""Statistics on arrays: correlation, tests, resampling, regression, model selection."""
