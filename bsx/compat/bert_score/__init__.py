"""bert-score 0.3.13's interface on bsx's engine, with its numbers: import `score` or `BERTScorer` from here instead.

docs/score/differences.md lists where the numbers differ and why, and which of its names are here.
"""

from bsx.compat.bert_score.score import plot_example as plot_example
from bsx.compat.bert_score.score import score as score
from bsx.compat.bert_score.scorer import BERTScorer as BERTScorer
from bsx.compat.bert_score.utils import __version__ as __version__
from bsx.compat.bert_score.utils import bert_cos_score_idf as bert_cos_score_idf
from bsx.compat.bert_score.utils import get_hash as get_hash
from bsx.compat.bert_score.utils import get_idf_dict as get_idf_dict
from bsx.compat.bert_score.utils import get_model as get_model
from bsx.compat.bert_score.utils import get_tokenizer as get_tokenizer
from bsx.compat.bert_score.utils import lang2model as lang2model
from bsx.compat.bert_score.utils import model2layers as model2layers
from bsx.compat.bert_score.utils import sent_encode as sent_encode
