"""Files of tensors: the same content is the same bytes."""

from __future__ import annotations

from pathlib import Path

import torch

from bsx.support.tensors import load_tensors, save_tensors


def test_the_same_tensors_are_the_same_bytes(tmp_path: Path) -> None:
    tensors = {"b": torch.arange(3.0), "a": torch.zeros(2, dtype=torch.int64)}
    facts = {name: f"{name} ä" for name in ("zeta", "alpha", "mu", "beta")}
    written = set()
    for names in (sorted(facts), sorted(facts, reverse=True)) * 8:  # the library's own order is one of chance
        save_tensors(tensors, tmp_path / "t", {name: facts[name] for name in names})
        written.add((tmp_path / "t").read_bytes())
    assert len(written) == 1
    read, said = load_tensors(tmp_path / "t")
    assert said == facts
    assert read.keys() == tensors.keys()
    assert all(torch.equal(read[name], tensors[name]) for name in tensors)
