"""The three networks: sizes as published, first weights, and every output against a step-by-step oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from bsx.networks.architectures import BiLstm, Network, build_network, dropped
from bsx.networks.config import ARCHITECTURES, TrainConfig
from tests.helpers import oracle_train

LAYERS, DIM = 3, 7
pytestmark = pytest.mark.usefixtures("one_thread")
Vectors = list[np.ndarray[Any, np.dtype[np.float32]]]


def network(architecture: Any, *, seed: int = 5, **settings: Any) -> Network:
    """A small network whose weights are far from their first values, the scalar mix and all biases included."""
    config = TrainConfig.model_validate({"hidden": 4, **settings})
    made = build_network(architecture, config, layers=LAYERS, dimensions=DIM, seed=seed)
    rng = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=rng))
    return made


def texts(lengths: list[int], seed: int = 1) -> Vectors:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(LAYERS, n, DIM)).astype(np.float32) for n in lengths]


def batched(made: Network, columns: list[Vectors], rng: torch.Generator | None = None) -> torch.Tensor:
    """Score candidates beside references, the two columns, all in one padded batch."""
    flat = [part for column in columns for part in column]
    lengths = torch.tensor([part.shape[1] for part in flat])
    encoded = made.encode(torch.from_numpy(np.concatenate(flat, axis=1)), lengths, rng)
    sides = [encoded.take(rows) for rows in torch.arange(len(flat)).reshape(len(columns), -1)]
    return made(*sides, rng)


def weights_of(made: Network) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    return {name: value.double().numpy() for name, value in made.state_dict().items()}


@pytest.mark.parametrize(
    ("architecture", "published"), [("bilstm", 4_008_614), ("bilstm-attention", 4_008_614), ("esim", 5_453_714)]
)
def test_parameters_are_as_many_as_published(architecture: Any, published: int) -> None:
    # With BERT's 12 layers of 768 units; 13 of them are the scalar mix. The paper's attention model also makes, and
    # never uses, a layer of 301, which is not in its 4,008,614.
    made = build_network(architecture, TrainConfig(), layers=12, dimensions=768, seed=1)
    assert sum(p.numel() for p in made.parameters()) == published
    assert sum(p.numel() for p in made.encoder.parameters()) == 2_568_000
    assert sum(p.numel() for p in made.mix.parameters()) == 13


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_first_weights(architecture: Any) -> None:
    made = build_network(architecture, TrainConfig(hidden=20), layers=4, dimensions=30, seed=3)
    assert made.mix.weights.tolist() == [0] * 4
    assert made.mix.gamma.tolist() == [1]
    lstms = [part for module in made.modules() if isinstance(module, BiLstm) for part in (module.ahead, module.back)]
    assert len(lstms) == (4 if architecture == "esim" else 2)
    for lstm in lstms:
        weights = {name: value.detach() for name, value in lstm.named_parameters()}
        assert not weights["bias_ih_l0"].any()
        assert weights["bias_hh_l0"].reshape(4, 20).tolist() == [[0.0] * 20, [1.0] * 20, [0.0] * 20, [0.0] * 20]
        recurrent = weights["weight_hh_l0"]  # (80, 20): its columns are orthonormal
        torch.testing.assert_close(recurrent.T @ recurrent, torch.eye(20), atol=1e-5, rtol=0)
        _is_xavier(weights["weight_ih_l0"])
    linears = [module for module in made.modules() if isinstance(module, torch.nn.Linear)]
    for linear in linears:
        assert not linear.bias.any()
        _is_xavier(linear.weight.detach())
    again = build_network(architecture, TrainConfig(hidden=20), layers=4, dimensions=30, seed=3)
    other = build_network(architecture, TrainConfig(hidden=20), layers=4, dimensions=30, seed=4)
    assert all(torch.equal(a, b) for a, b in zip(made.parameters(), again.parameters(), strict=True))
    assert not torch.equal(made.regressor.weight, other.regressor.weight)


def _is_xavier(weight: torch.Tensor) -> None:
    bound = (6 / sum(weight.shape)) ** 0.5
    assert weight.abs().max() <= bound
    assert weight.abs().max() > 0.9 * bound * (0.5 if weight.numel() < 50 else 1)
    assert float(weight.std()) == pytest.approx(bound / 3**0.5, rel=0.3 if weight.numel() < 50 else 0.08)


@pytest.mark.parametrize("difference", ["signed", "absolute"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_outputs_are_those_of_the_oracle(architecture: Any, difference: str) -> None:
    made = network(architecture, difference=difference)
    columns = [texts([3, 1, 6, 2], 1), texts([2, 5, 1, 6], 2)]
    got = batched(made, columns).detach().numpy()
    weights = weights_of(made)
    for row in range(4):
        candidate, reference = (column[row].astype(np.float64) for column in columns)
        expected = oracle_train.score(architecture, candidate, reference, weights, difference)
        assert got[row] == pytest.approx(expected, abs=2e-5)  # fp32 against fp64, outputs about 1


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gradients_reach_every_weight_and_not_the_vectors(architecture: Any) -> None:
    made = network(architecture)
    columns = [texts([3, 4], 1), texts([5, 2], 2)]
    scores = batched(made, columns, torch.Generator().manual_seed(1))
    torch.nn.functional.mse_loss(scores, torch.tensor([1.0, -1.0])).backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_dropout() -> None:
    x = torch.ones((4, 6, 50))
    rng = torch.Generator().manual_seed(1)
    once = dropped(x, 0.5, rng, over_time=True)
    assert torch.equal(once[:, 0], once[:, 5])  # one mask for all tokens of a text
    assert not torch.equal(once[0], once[1])
    assert set(once.unique().tolist()) == {0.0, 2.0}
    assert float(once.mean()) == pytest.approx(1, abs=0.2)
    assert not torch.equal(dropped(x[:, 0], 0.5, rng)[0], dropped(x[:, 0], 0.5, rng)[0])
    assert dropped(x, 0.5, None) is x
    assert dropped(x, 0.0, rng) is x
