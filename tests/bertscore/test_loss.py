"""The differentiable loss: equals the score, and its gradient is its slope."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from bsx import Scorer
from bsx.errors import InputError
from tests.conftest import Model


def test_loss_equals_one_minus_the_score(tiny_model: Model) -> None:
    scorer = Scorer(model=tiny_model("bert"), layer=2, specials="exclude")
    candidate, reference = "the old cat", "a young dog sat"
    ids = torch.tensor([scorer.tokenizer.tokenize([candidate])[0].ids.tolist()])
    embedder: Any = scorer.metric.encoding.shared.batcher.embedder
    vectors = torch.from_numpy(embedder.begin(ids.numpy(), None)())[0][:, 1:-1].clone()
    scores = scorer.score([candidate], [reference])
    for measure in ("precision", "recall", "f1"):
        loss = scorer.loss(vectors, [reference], measure=measure)
        assert loss.item() == pytest.approx(1 - getattr(scores, measure)[0], abs=1e-5)
    padded = torch.cat([vectors, torch.full((1, 3, vectors.shape[2]), 9.0)], dim=1)
    mask = torch.tensor([[1, 1, 1, 0, 0, 0]])
    assert scorer.loss(padded, [reference], candidate_mask=mask).item() == pytest.approx(1 - scores.f1[0], abs=1e-5)
    plain = Scorer(model=tiny_model("bert"), layer=2)  # special tokens of a reference may be matched
    lost = plain.loss(vectors, [reference], measure="precision").item()
    assert lost == pytest.approx(1 - plain.score([candidate], [reference]).precision[0], abs=1e-5)
    several = scorer.loss(vectors, [[reference, candidate]])
    assert several.item() == pytest.approx(0, abs=1e-5)


def test_gradient_agrees_with_finite_differences(tiny_model: Model) -> None:
    scorer = Scorer(model=tiny_model("bert"), layer=1, backend="torch")
    torch.manual_seed(1)
    vectors = torch.randn(2, 4, scorer.dimensions, requires_grad=True)
    references = ["the dog", ["rain", "a house"]]
    total = scorer.loss(vectors, references, reduction="sum")
    total.backward()
    assert total.item() == pytest.approx(2 * scorer.loss(vectors, references).item())
    assert vectors.grad is not None
    embedder: Any = scorer.metric.encoding.shared.batcher.embedder
    assert all(parameter.grad is None for parameter in embedder.module.parameters())
    direction = torch.randn_like(vectors)
    step = 1e-2
    with torch.no_grad():
        up = scorer.loss(vectors + step * direction, references, reduction="sum")
        down = scorer.loss(vectors - step * direction, references, reduction="sum")
    slope = (up - down).item() / (2 * step)
    assert slope == pytest.approx((vectors.grad * direction).sum().item(), rel=0.02, abs=1e-4)


@pytest.mark.parametrize(
    ("settings", "shape", "references", "more", "message"),
    [
        ({}, (3, 32), ["a"], {}, "need the shape"),
        ({}, (1, 3, 32), ["a", "b"], {}, "there are 2 references"),
        ({}, (1, 3, 8), ["a"], {}, "and 32 dimensions"),
        ({}, (1, 3, 32), [" "], {}, "without content"),
        ({}, (1, 3, 32), ["a"], {"candidate_mask": torch.zeros(1, 3)}, "mask"),
        ({"layer": None, "all_layers": True}, (1, 3, 32), ["a"], {}, "one layer"),
        ({"idf": True}, (1, 3, 32), ["a"], {}, "without idf"),
    ],
)
def test_what_has_no_loss(
    settings: dict[str, Any], shape: tuple[int, ...], references: list[str], more: Any, message: str, tiny_model: Model
) -> None:
    scorer = Scorer(model=tiny_model("bert"), **{"layer": 1, **settings})
    with pytest.raises(InputError, match=message):
        scorer.loss(torch.ones(shape), references, **more)
