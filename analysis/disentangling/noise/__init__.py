"""Noise in factors: their reliability, coefficients without the noise, and reliabilities at which they vanish."""
