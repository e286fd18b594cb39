"""Tables scored in parts: put together they are the run in one piece, and what does not belong together is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bsx.encode.idf import Idf
from bsx.errors import InputError
from bsx.jobs import merge_shards, score_files, score_shard

WORDS = "rain train house river bank old man young woman walked slowly bridge station people city water".split()  # noqa: SIM905 - prose reads better
Row = dict[str, Any]


def write(path: Path, rows: Sequence[Row]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.Table.from_pylist(list(rows)), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        lines = ["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def made(rows: int, *, seed: int = 1) -> list[Row]:
    rng = np.random.default_rng(seed)

    def text() -> str:
        return " ".join(rng.choice(WORDS, rng.integers(2, 8)))

    return [{"segment": f"{i}", "candidate": text(), "reference": text()} for i in range(rows)]


def parts(table: str, output: Path, shards: int, **settings: Any) -> list[Any]:
    order = np.random.default_rng(0).permutation(shards) + 1  # whatever comes first
    return [score_shard(table=table, output=output, shard=f"{i}/{shards}", **settings) for i in order]


def alike(one: Path, two: Path) -> None:
    assert one.read_bytes() == two.read_bytes()
    names = [Path(f"{path}.signatures.json") for path in (one, two)]
    said = [json.loads(path.read_text(encoding="utf-8")) for path in names if path.exists()]
    for content in said:
        content.pop("provenance", None)
    assert len(said) in (0, 2)
    assert said[:1] == said[1:]


@pytest.mark.parametrize("kind", [".tsv", ".jsonl", ".parquet"])
def test_parts_of_several_files_are_the_run_in_one_piece(kind: str, tmp_path: Path) -> None:
    table = tmp_path / "in"
    rows = made(130)
    for i, some in enumerate([rows[:17], rows[17:20], rows[20:90], rows[90:]]):
        write(table / f"lang={'de' if i < 2 else 'en'}" / f"part-{i}{kind}", some)
    write(table / "_left" / f"part{kind}", made(3))  # not for readers, as the name says
    settings: Any = {"metrics": ["chrf", "bleu", "ter"]}
    whole, merged = tmp_path / f"whole{kind}", tmp_path / f"merged{kind}"
    expected = score_files(table=str(table), output=whole, **settings).to_dict()
    assert expected["segments"] == 130
    done = parts(str(table), tmp_path / "out", 7, **settings)
    assert [one.finished for one in done] == [1, 2, 3, 4, 5, 6, 7]
    assert sorted(one.rows for one in done)[0] == (1, 18)
    result = merge_shards(folder=tmp_path / "out", output=merged).to_dict()
    assert result["metrics"] == expected["metrics"]
    alike(whole, merged)
    # The same rows in one file, with what the folders said: nothing hangs on how a table is cut into files.
    one = write(tmp_path / f"one{kind}", [{**row, "lang": "de" if i < 20 else "en"} for i, row in enumerate(rows)])
    again = score_files(table=one, output=tmp_path / f"again{kind}", **settings).to_dict()
    assert again["metrics"] == expected["metrics"]
    assert (tmp_path / f"again{kind}").read_bytes() == whole.read_bytes() or kind == ".parquet"


@pytest.mark.usefixtures("one_thread")
def test_figures_of_several_layers_and_systems(tiny_model: Callable[[str], str], tmp_path: Path) -> None:
    rows = [{"system": f"s{i % 2}", **row, "segment": f"{i // 2}"} for i, row in enumerate(made(60))]
    table = write(tmp_path / "t.tsv", rows)
    settings: Any = {"model": tiny_model("bert"), "all_layers": True, "backend": "torch"}
    expected = score_files(table=table, output=tmp_path / "whole.tsv", **settings)
    parts(table, tmp_path / "out", 4, **settings)
    result = merge_shards(folder=tmp_path / "out", output=tmp_path / "merged.tsv")
    assert [one["name"] for one in result.to_dict()["systems"]] == ["s0", "s1"]
    for mine, theirs in zip(result.to_dict()["systems"], expected.to_dict()["systems"], strict=True):
        assert mine["f1"] == pytest.approx(theirs["f1"], abs=1e-5)  # batches are cut elsewhere
    assert str(result.prepared.signature(0)) == str(expected.prepared.signature(0))


def test_several_columns_of_systems_and_numbers_of_references(tmp_path: Path) -> None:
    rows = [{**row, "other": row["reference"][3:] + "a", "reference": [row["reference"]]} for row in made(40)]
    rows[-1]["reference"].append("two of them")
    table = write(tmp_path / "t.jsonl", rows)
    settings: Any = {"metrics": ["chrf", "bleu"], "candidate": ["candidate", "other"]}
    expected = score_files(table=table, output=tmp_path / "whole.jsonl", **settings).to_dict()
    assert "refs:1-2" in expected["metrics"][0]["signature"]
    parts(table, tmp_path / "out", 3, **settings)
    result = merge_shards(folder=tmp_path / "out", output=tmp_path / "merged.jsonl").to_dict()
    assert result["metrics"] == expected["metrics"]
    alike(tmp_path / "whole.jsonl", tmp_path / "merged.jsonl")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_part_that_was_killed_is_scored_anew_and_a_finished_one_is_not(tmp_path: Path) -> None:
    table = write(tmp_path / "t.tsv", made(1200))
    words = [sys.executable, "-m", "bsx", "score", "t.tsv", "--metrics", "chrf", "-o", "out", "--shard"]
    process = subprocess.Popen([*words, "1/2"], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    out = tmp_path / "out"
    end = time.monotonic() + 60
    while not list(out.glob(".shard-*.tmp")) and time.monotonic() < end:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not list(out.glob("shard-*"))
    assert len(list(out.glob(".shard-*.tmp"))) == 1
    with pytest.raises(InputError, match="2 of 2 shards are missing"):
        merge_shards(folder=out)
    for number in ("1/2", "2/2"):
        subprocess.run([*words, number], cwd=tmp_path, check=True, capture_output=True)
    assert not list(out.glob(".*"))
    before = [(path.name, path.stat().st_mtime_ns) for path in sorted(out.glob("shard-*"))]
    again = subprocess.run([*words, "2/2"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "was finished before" in again.stdout
    assert [(path.name, path.stat().st_mtime_ns) for path in sorted(out.glob("shard-*"))] == before
    merged = [sys.executable, "-m", "bsx", "merge", "out", "-o", "merged.tsv"]
    subprocess.run(merged, cwd=tmp_path, check=True, capture_output=True)
    score_files(table=table, output=tmp_path / "whole.tsv", metrics=["chrf"])
    alike(tmp_path / "whole.tsv", tmp_path / "merged.tsv")


def test_parts_that_are_damaged_or_of_another_run(tmp_path: Path) -> None:
    table, out = write(tmp_path / "t.tsv", made(30)), tmp_path / "out"
    settings: Any = {"metrics": ["chrf"]}
    parts(table, out, 3, **settings)
    expected = merge_shards(folder=out).to_dict()
    two = out / "shard-2-of-3.npz"
    whole = two.read_bytes()
    other = tmp_path / "other"
    parts(table, other, 3, metrics=["chrf:word_order=2"])
    for content in (whole[:-1], whole[:40], b"", whole[:200] + b"x" + whole[201:], (other / two.name).read_bytes()):
        two.write_bytes(content)
        with pytest.raises(InputError, match="score it again with shard=2/3"):
            merge_shards(folder=out)
        told: list[str] = []
        assert not score_shard(table=table, output=out, shard="2/3", say=told.append, **settings).before
        assert len(told) == 1
        assert merge_shards(folder=out).to_dict() == expected
    (out / "shard-1-of-2.npz").write_bytes(whole)
    with pytest.raises(InputError, match="is no part of 3"):
        merge_shards(folder=out)
    (out / "shard-1-of-2.npz").unlink()
    manifest = out / "manifest.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"chrf"', '"bleu"'), encoding="utf-8")
    with pytest.raises(InputError, match="another run"):
        merge_shards(folder=out)


def test_other_settings_files_and_folders(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    table = str(folder)
    for i in range(2):
        write(folder / f"{i}.tsv", made(10, seed=i))
    parts(table, out, 2, metrics=["chrf"])
    for settings, said in (
        ({"metrics": ["bleu"], "shard": "1/2"}, "metrics chrf, not bleu"),
        ({"metrics": ["chrf"], "shard": "1/4"}, "number of shards 2, not 4"),
        ({"metrics": ["chrf"], "shard": "1/2", "normalize": "none"}, "normalize its default, not none"),
    ):
        with pytest.raises(InputError, match=said):
            score_shard(table=table, output=out, **settings)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="and no manifest"):
        score_shard(table=table, output=folder, shard="1/2", metrics=["chrf"])
    with pytest.raises(InputError, match="20 rows: no more shards than that"):
        score_shard(table=table, output=tmp_path / "o2", shard="1/21", metrics=["chrf"])
    assert not (tmp_path / "o2").exists()
    write(folder / "1.tsv", made(10, seed=3))
    for again in (lambda: merge_shards(folder=out), lambda: parts(table, out, 2, metrics=["chrf"])):
        with pytest.raises(InputError, match="1.tsv: was changed since"):
            again()
    write(folder / "2.tsv", made(1))
    with pytest.raises(InputError, match="other files: 2.tsv"):
        score_shard(table=table, output=out, shard="1/2", metrics=["chrf"])
    write(folder / "2.tsv", [{"candidate": "a", "references": "b"}])
    with pytest.raises(InputError, match="2.tsv: has other columns than"):
        score_files(table=table, metrics=["chrf"])
    with pytest.raises(InputError, match="no file has a name like this"):
        score_files(table=str(folder / "*.parquet"), metrics=["chrf"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"shard": "3/2"}, "written NUMBER/PARTS"),
        ({"shard": "0/2"}, "written NUMBER/PARTS"),
        ({"shard": "1/2", "output": None}, "folder of output"),
        ({"shard": "1/2", "resume": True}, "cannot be combined with resume"),
        ({"shard": "1/2", "lang": "auto"}, "cannot be combined with lang=auto"),
        ({"shard": "1/2", "table": "-"}, "rows of a table"),
        ({}, "shard is missing"),
    ],
)
def test_what_does_not_go_with_parts(settings: Row, said: str, tmp_path: Path) -> None:
    table = write(tmp_path / "t.tsv", made(5))
    with pytest.raises(InputError, match=said):
        score_shard(**{"table": table, "output": tmp_path / "out", "metrics": ["chrf"], **settings})
    assert [path.name for path in tmp_path.iterdir()] == ["t.tsv"]


@pytest.mark.usefixtures("one_thread")
def test_idf_is_never_that_of_a_part(tiny_model: Callable[[str], str], tmp_path: Path) -> None:
    from bsx import Scorer

    table, out = write(tmp_path / "t.tsv", made(24)), tmp_path / "out"
    settings: Any = {"model": tiny_model("bert"), "layer": 1, "backend": "torch"}
    with pytest.raises(InputError, match="counts idf over the whole corpus"):
        score_shard(table=table, output=out, shard="1/2", idf=True, **settings)
    specs = ["bertscore:layer=1,idf=true"]
    with pytest.raises(InputError, match="counts idf over the whole corpus"):
        score_shard(table=table, output=out, shard="1/2", metrics=specs, model=settings["model"])
    assert not out.exists()
    counted = Scorer(**settings).count_idf([row["reference"] for row in made(24)])
    counted.save(tmp_path / "idf.json")
    parts(table, out, 2, idf=Idf.load(tmp_path / "idf.json"), **settings)
    result = merge_shards(folder=out).to_dict()
    expected = score_files(table=table, idf=True, **settings).to_dict()
    assert result["signature"] == expected["signature"]
    assert result["f1"] == pytest.approx(expected["f1"], abs=1e-5)


def test_what_the_script_of_a_part_decides_is_refused_if_the_whole_decides_otherwise(tmp_path: Path) -> None:
    chinese = {"segment": "x", "candidate": "我喜欢这座老桥", "reference": "我很喜欢这座旧桥"}
    table = write(tmp_path / "t.tsv", [*made(30), *([chinese] * 10)])
    parts(table, tmp_path / "out", 4, metrics=["bleu"])
    with pytest.raises(InputError, match="tokenize:zh in the signature of bleu, not tokenize:13a"):
        merge_shards(folder=tmp_path / "out")
    parts(table, tmp_path / "named", 4, metrics=["bleu:tokenize=13a"])
    merge_shards(folder=tmp_path / "named")


@pytest.mark.parametrize("address", ["s3://bucket/pairs.tsv", "hf://data/x/*.parquet", "https://host.example/x.jsonl"])
def test_addresses_are_not_read(address: str) -> None:
    with pytest.raises(InputError, match="addresses are not read") as caught:
        score_files(table=address, metrics=["chrf"])
    assert "\n" not in str(caught.value)
