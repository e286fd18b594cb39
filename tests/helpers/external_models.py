"""Tiny random models for packages that bsx runs in environments of their own, and those packages' own scores.

Run by such an environment's interpreter: ``python external_models.py comet|laser FOLDER`` builds the models,
``comet-scores MODEL``, ``laser-scores FOLDER LANG LANG`` and ``metricx-scores MODEL CODE LIMIT``
read JSON from standard input and print the package's own
scores as the last line.
"""

from __future__ import annotations

import importlib
import json
import string
import sys
from pathlib import Path
from typing import Any

WORDS = (  # noqa: SIM905 - prose reads better
    "the a cat dog sat mat on house river man walked to bridge old new train station said rain was slow katze hund haus"
).split()


def build_comet(home: Path) -> None:
    """Build one model of each of COMET's kinds on a tiny XLM-R, in the layout that the package saves."""
    import pytorch_lightning
    import torch
    import yaml
    from comet.models import ReferencelessRegression, RegressionMetric, UnifiedMetric, XCOMETMetric
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import XLMRobertaConfig, XLMRobertaModel, XLMRobertaTokenizerFast  # type: ignore[attr-defined]

    torch.manual_seed(3)
    pieces = [(piece, 0.0) for piece in ("<s>", "<pad>", "</s>", "<unk>")] + [("▁", -3.0)]
    pieces += [(c, -8.0) for c in string.ascii_letters + string.digits + string.punctuation + "éüñ我们猫"]
    pieces += [("▁" + word, -5.0) for word in WORDS] + [("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}
    special = {f"{name}_token": token for name, token in names.items()}
    XLMRobertaTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(home / "encoder")
    sizes: dict[str, Any] = {"vocab_size": len(pieces), "hidden_size": 32, "intermediate_size": 64}
    sizes |= {"num_hidden_layers": 3, "num_attention_heads": 4, "max_position_embeddings": 42, "type_vocab_size": 1}
    config = XLMRobertaConfig(**sizes, initializer_range=0.3)
    XLMRobertaModel(config, add_pooling_layer=False).save_pretrained(home / "encoder")
    common: dict[str, Any] = {"pretrained_model": str(home / "encoder"), "hidden_sizes": [24, 8]}
    common["layer_transformation"] = "softmax"
    explained = {"sent_layer": "mix", "word_layer": 3, "encoder_model": "XLM-RoBERTa"}
    for name, kind, made in (
        ("comet", "regression_metric", RegressionMetric(**common)),
        ("comet-qe", "referenceless_regression_metric", ReferencelessRegression(**common)),
        ("unified", "unified_metric", UnifiedMetric(**common, word_layer=3)),
        ("xcomet", "xcomet_metric", XCOMETMetric(**explained, **common)),
        ("unified-qe", "unified_metric", UnifiedMetric(**common, word_layer=3, input_segments=["mt", "src"])),
    ):
        for parameter in made.estimator.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
        trainer = pytorch_lightning.Trainer(max_epochs=0, logger=False, enable_checkpointing=False, accelerator="cpu")
        trainer.strategy.connect(made)
        (home / name / "checkpoints").mkdir(parents=True)
        trainer.save_checkpoint(home / name / "checkpoints" / "model.ckpt", weights_only=True)
        settings = {**dict(made.hparams), "class_identifier": kind}
        (home / name / "hparams.yaml").write_text(yaml.safe_dump(settings))


def comet_scores(model: str) -> list[float]:
    """Return the scores of ``predict`` as the package's documentation calls it."""
    from comet import load_from_checkpoint

    path = Path(model)
    loaded = load_from_checkpoint(str(path if path.suffix == ".ckpt" else path / "checkpoints" / "model.ckpt"))
    samples = json.load(sys.stdin)
    return [float(score) for score in loaded.predict(samples, batch_size=8, gpus=0)["scores"]]


def metricx_scores(folder: str, code: str, limit: str) -> list[float]:
    """Return the scores of texts, as ``metricx24/predict.py`` of google-research/metricx makes them."""
    import torch
    from transformers import AutoTokenizer

    sys.path.insert(0, code)
    kind: Any = importlib.import_module("metricx24.models").MT5ForRegression
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = kind.from_pretrained(folder).eval()
    scores = []
    for text in json.load(sys.stdin):
        read = tokenizer(text, max_length=int(limit), truncation=True, padding=False)
        given = {name: torch.tensor([read[name][:-1]]) for name in ("input_ids", "attention_mask")}
        with torch.no_grad():
            scores.append(float(model(**given, return_dict=True).predictions[0]))
    return scores


def build_laser(home: Path) -> None:
    """Build LASER2's LSTM and a LASER3 transformer, tiny, as the package's files hold them."""
    from argparse import Namespace

    import sentencepiece
    import torch
    from fairseq.data.dictionary import Dictionary
    from fairseq.models.transformer import Embedding, TransformerEncoder, base_architecture
    from laser_encoders.models import LaserLstmEncoder

    torch.manual_seed(4)
    home.mkdir(parents=True, exist_ok=True)
    texts = [f"{a} {b} {c}" for a in WORDS for b in WORDS[::3] for c in WORDS[::4]]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_prefix=str(home / "laser2"), vocab_size=60, hard_vocab_limit=False
    )
    (home / "laser2.model").rename(home / "laser2.spm")
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(home / "laser2.spm"))
    names = [pieces.id_to_piece(i) for i in range(3, pieces.get_piece_size())]
    (home / "laser2.cvocab").write_text("".join(f"{name} 1\n" for name in names), encoding="utf-8")
    settings = {"num_embeddings": len(names) + 4, "padding_idx": 1, "embed_dim": 12, "hidden_size": 16}
    settings |= {"num_layers": 2, "bidirectional": True, "left_pad": False}
    lstm = LaserLstmEncoder(**settings)
    dictionary = {name: at for at, name in enumerate(["<s>", "<pad>", "</s>", "<unk>", *names])}
    torch.save({"params": settings, "model": lstm.state_dict(), "dictionary": dictionary}, home / "laser2.pt")
    config = Namespace(encoder_layers=2, sentemb_criterion="maxpool", prepend_bos=True, left_pad_source=False)
    vars(config).update({f"max_{side}_positions": 128 for side in ("source", "target")})
    for side in ("encoder", "decoder"):
        sizes = {"embed_dim": 32, "ffn_embed_dim": 32, "attention_heads": 2}
        vars(config).update({f"{side}_{name}": size for name, size in sizes.items()})
    base_architecture(config)
    vocabulary = Dictionary.load(str(home / "laser2.cvocab"))
    transformer = TransformerEncoder(config, vocabulary, Embedding(len(vocabulary), 32, vocabulary.pad_index))
    torch.save({"cfg": {"model": config}, "model": transformer.state_dict()}, home / "laser3-wol_Latn.v1.pt")


def laser_scores(folder: str, *langs: str) -> list[float]:
    """Return cosines by the package's own pipeline, one text at a time."""
    import numpy as np
    import torch
    from laser_encoders import LaserEncoderPipeline

    load = torch.load
    torch.load = lambda *given, **named: load(*given, **{**named, "weights_only": False})
    left, right = (
        LaserEncoderPipeline(model_dir=folder, **({"laser": "laser2"} if lang == "laser2" else {"lang": lang}))
        for lang in langs
    )
    scores = []
    for one, other in json.load(sys.stdin):
        a = left.encode_sentences([one])[0].astype(np.float64)
        b = right.encode_sentences([other])[0].astype(np.float64)
        scores.append(float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))
    return scores


if __name__ == "__main__":
    task, *arguments = sys.argv[1:]
    if task in ("comet", "laser"):
        {"comet": build_comet, "laser": build_laser}[task](Path(arguments[0]))
    else:
        scores: dict[str, Any] = {"comet-scores": comet_scores, "laser-scores": laser_scores}
        scores["metricx-scores"] = metricx_scores
        print(json.dumps(scores[task](*arguments)))
