"""Reading and writing: corpora, tables, cells, columns, output files, the journal of a run, language detection."""
