"""Metric cards side by side, and as text, Markdown or one page."""
