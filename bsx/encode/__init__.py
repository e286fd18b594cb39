"""Encoders: token ids to contextual vectors."""
