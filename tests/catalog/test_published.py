"""Metrics of which there are published scores only: facts with sources, shown, listed, refused where they would run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bsx.catalog.catalog import load_registry, shipped
from bsx.catalog.published import PublishedEntry, find_published, published_metrics
from bsx.errors import RegistryError, UnknownNameError
from bsx.metrics.base import get_metric
from tests.conftest import Cli

ENTRY = """\
- name: mine
  title: Mine
  needs: [candidate, source]
  about: {says: a metric of mine, source: me}
  called: [Mine-1]
  test_sets: [mine]
  citation: nobody
"""


def test_what_is_shipped_is_whole() -> None:
    catalog = shipped()
    entries = published_metrics(catalog)
    assert {"matese", "yisi-1", "yisi-2", "cometkiwi", "gemba-mqm", "sentinel-cand-mqm"} <= entries.keys()
    columns = [name for entry in entries.values() for name in entry.called]
    assert len(columns) == len(set(columns))
    for entry in entries.values():
        assert entry.name not in catalog.metrics
        assert entry.here is None or entry.here in catalog.metrics
        assert entry.control == entry.name.startswith("sentinel-")


@pytest.mark.parametrize("name", ["matese", "MaTESe"])
def test_it_is_shown_and_does_not_run(cli: Cli, name: str) -> None:
    entry = find_published(name, shipped())
    assert entry is not None
    shown = cli("metrics", "show", name, "--format", "json")
    assert shown.status == 0
    assert PublishedEntry.model_validate(json.loads(shown.out)) == entry
    text = cli("metrics", "show", name).out
    assert entry.run is not None
    assert entry.run.says in text
    with pytest.raises(UnknownNameError, match="metrics show matese"):
        get_metric(name)
    listed = json.loads(cli("metrics", "--format", "json").out)
    assert "matese" in [one["name"] for one in listed["published"]]
    assert "matese" not in [one["name"] for one in listed["metrics"]]


def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "published.yaml").write_text(ENTRY, encoding="utf-8")
    entry = find_published("Mine-1", load_registry(tmp_path))
    assert entry is not None
    assert entry.licence is None
    assert "matese" in published_metrics(load_registry(tmp_path))
    (tmp_path / "published.yaml").write_text(ENTRY.replace(", source: me", ""), encoding="utf-8")
    with pytest.raises(RegistryError, match=r"published.yaml: .*about.source"):
        published_metrics(load_registry(tmp_path))
