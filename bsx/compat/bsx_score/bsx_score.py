"""The script that ``evaluate.load`` copies and runs: any metric of the zoo, named as the configuration."""

try:
    import datasets
    import evaluate
except ModuleNotFoundError:  # nobody can load it then; it can still be imported
    evaluate = None  # type: ignore[assignment, unused-ignore]

from bsx.catalog.catalog import load_registry
from bsx.compat.bert_score import BERTScorer
from bsx.compat.corpus import CorpusMetric
from bsx.metrics.base import needs_of

# What evaluate's own module ``bertscore`` takes beside texts; its settings that no score depends on come last.
SETTINGS = {"model_type", "num_layers", "all_layers", "idf", "device", "lang", "rescale_with_baseline", "baseline_path"}
SETTINGS |= {"use_fast_tokenizer", "verbose", "batch_size", "nthreads"}

if evaluate is not None:

    class BsxScore(evaluate.Metric):  # type: ignore[misc, unused-ignore]
        """A metric of bsx's zoo; the configuration's name is the metric, ``bertscore`` unless given."""

        def _info(self):  # type: ignore[no-untyped-def]
            self.spec = "bertscore" if self.config_name == "default" else self.config_name
            texts, several = datasets.Value("string"), datasets.Sequence(datasets.Value("string"))
            needs = needs_of(self.spec, load_registry())
            sources = {"sources": texts} if "source" in needs else {}
            kinds = [several, texts] if "reference" in needs else [None]
            features = [
                datasets.Features({"predictions": texts, **({} if kind is None else {"references": kind}), **sources})
                for kind in kinds
            ]
            entry = load_registry().metric(self.spec.partition(":")[0])
            return evaluate.MetricInfo(
                description=f"{self.spec}, computed by bsx",
                citation=entry.citation if entry is not None else "",
                inputs_description="predictions, references (texts or lists of texts), sources, as the metric needs",
                features=features,
            )

        def _compute(self, predictions, references=None, sources=None, model=None, **settings):  # type: ignore[no-untyped-def]
            """Return the corpus score, the score of each segment and the signature.

            ``bertscore`` without ``model`` takes bert-score's arguments and returns what evaluate's own module does.
            """
            if self.spec == "bertscore" and model is None and set(settings) <= SETTINGS:
                verbose = settings.pop("verbose", False)
                scorer = BERTScorer(**settings)
                figures = scorer.arrays(predictions, references, verbose)
                named = zip(("precision", "recall", "f1"), figures, strict=True)
                return {**{name: figure.tolist() for name, figure in named}, "hashcode": scorer.hash}
            scores = CorpusMetric(self.spec, model=model, **settings).metric.score(predictions, references, sources)
            return {"score": scores.system, "scores": scores.values.tolist(), "signature": str(scores.signature)}
