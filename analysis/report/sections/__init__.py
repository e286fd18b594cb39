"""The sections of a report, one file for each kind of result: paragraphs, tables, charts and examples."""
