"""Explanations of scores word by word: what each word adds to a score, and how well that finds human marks."""
