"""Linguistic factors of sentence pairs: how alike two sentences are in meaning, structure, words and word forms.

One file and one entry for each factor in ``registry/factors``; see docs/explain/factors.md.
"""
