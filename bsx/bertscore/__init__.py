"""BERTScore: precision, recall and F1 of token vectors, with idf, rescaling, alignments and a loss."""

from bsx.support.faces import callable_room

callable_room(__name__, "score")
