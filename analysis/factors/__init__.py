"""Linguistic factors of sentence pairs: how alike two sentences are in meaning, structure, words and word forms.

One file a factor, one entry each in ``registry/factors``; see docs/explain/factors.md.
"""
