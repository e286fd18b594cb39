"""BERTScore: precision, recall and F1 of token vectors, with idf, rescaling, alignments and a loss."""
