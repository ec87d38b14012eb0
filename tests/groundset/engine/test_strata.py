"""The option `--stratify`."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scripted_run import generate, write_documents

from groundset.corpus.chunks import draw_in_turn
from groundset.engine.config import make_config
from groundset.engine.strata import by_cluster, by_column
from programs.errors import InputError
from programs.types import Chunk


def chunk(number: int, **metadata: object) -> Chunk:
    return Chunk(chunk_id=f"c{number}", doc_id="d", path="d.md", title="D", start=0, end=1, text="a", metadata=metadata)


def test_every_stratum_comes_in_each_round():
    chunks = [chunk(number) for number in range(9)]
    strata = [*"aaaaaab", *"cc"]
    order = draw_in_turn(chunks, strata, 3)
    drawn = [strata[int(each.chunk_id[1:])] for each in order]
    assert [set(drawn[:3]), set(drawn[3:5]), set(drawn[5:])] == [{"a", "b", "c"}, {"a", "c"}, {"a"}]
    assert [each.chunk_id for each in order if each.chunk_id < "c6"] == [f"c{number}" for number in range(6)]
    assert draw_in_turn(chunks, strata, 3) == order
    assert any(draw_in_turn(chunks, strata, seed) != order for seed in range(9))


def test_column():
    chunks = [chunk(number, kind="rare" if number == 7 else "common") for number in range(8)] + [chunk(8)]
    order = by_column(chunks, "column=kind", 0)
    assert {each.metadata.get("kind") for each in order[:3]} == {"rare", "common", None}
    for other in ("document", "cluster"):
        assert by_column(chunks, other, 0) is chunks
    with pytest.raises(InputError, match=r"--stratify column=topic: no chunk has this column .* the columns are kind"):
        by_column(chunks, "column=topic", 0)
    with pytest.raises(InputError, match="they have none"):
        by_column([chunk(0)], "column=topic", 0)


def test_clusters():
    chunks = [chunk(number) for number in range(50)]
    rows = np.zeros((50, 8), dtype=np.float32)
    rows[np.arange(50), [0] * 40 + [1] * 4 + [2] * 2 + [3] * 2 + [4] * 2] = 1
    order = by_cluster(chunks, rows, 0)
    assert sorted(order, key=lambda each: int(each.chunk_id[1:])) == chunks
    assert {int(rows[int(each.chunk_id[1:])].argmax()) for each in order[:5]} == {0, 1, 2, 3, 4}
    assert by_cluster(chunks, rows, 0) == order


@pytest.mark.parametrize("wrong", ["", "topic", "column="])
def test_wrong_values(wrong):
    with pytest.raises(InputError, match=r"--stratify.*choose one of document, cluster, column=NAME"):
        make_config({"documents": ("docs",), "stratify": wrong})


def test_runs_by_column_and_cluster(tmp_path: Path):
    rows = [
        {"chunk_id": f"c{number}", "doc_id": "d", "text": f"Word{number} stands here. " * 5, "metadata": {"kind": kind}}
        for number, kind in enumerate(["rare"] * 3 + ["common"] * 20)
    ]
    file = tmp_path / "chunks.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {"documents": (), "chunks": file, "size": 4}
    for stratify in ("column=kind", "cluster"):
        result = generate(tmp_path, tmp_path / stratify, stratify=stratify, **options)
        assert result.ending == "complete"
        made = [json.loads(line) for line in (tmp_path / stratify / "samples.jsonl").read_text().splitlines()]
        if stratify != "cluster":
            kinds = Counter(each["contexts"][0]["metadata"]["kind"] for each in made)
            assert kinds == {"rare": 2, "common": 2}
    with pytest.raises(InputError, match="no chunk has this column"):
        generate(write_documents(tmp_path / "docs"), tmp_path / "none", stratify="column=kind")
    assert not (tmp_path / "none").exists()
