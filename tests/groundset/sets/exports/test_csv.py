"""The CSV export: rows, dialect and escaping of formulas."""

import csv
import json

from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS
from programs.types import Retrieval

HOSTILE = [
    "=HYPERLINK(\"http://evil.example\",\"x\")", "+1", "-2 degrees", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1",
    "'=1", "''", "'s-Hertogenbosch", "\0=1", 'a,"b"\r\nc;=1', "\u2028=1", "plain", "é" * 40_000,
]  # fmt: skip


def read(file):
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def as_written(cell):
    return cell.removeprefix("'")


def test_csv_tables(full_run, samples, chunks, tmp_path):
    lost = Retrieval(rank=None, retrieved_id="x", retrieved_content="x", score=0)
    samples = [samples[0].model_copy(update={"retrieval": lost, "metadata": {"kind": "time"}}), samples[1]]
    write_set(full_run.replace(samples=samples), [EXPORTS["csv"]], tmp_path / "out")
    first, second = read(tmp_path / "out" / "questions.csv")
    assert first["question"] == samples[0].question
    assert first["answer"] == "That it is “fine”."
    assert (first["rank"], first["probability"], first["split"], first["kind"]) == ("", "0.9", "", "time")
    assert json.loads(second["chunk_ids"]) == ["clock-0000", "ferry-0001"]
    assert json.loads(second["retrieval_gt"]) == [["clock-0000"], ["ferry-0001"]]
    assert json.loads(second["contexts"]) == [chunk.text for chunk in samples[1].contexts]
    assert json.loads(second["paths"]) == ["clock.md", "ferry.md"]
    rows = read(tmp_path / "out" / "corpus.csv")
    assert [(row["chunk_id"], row["text"], int(row["start"])) for row in rows] == [
        (chunk.chunk_id, chunk.text, chunk.start) for chunk in chunks
    ]
    for name, count in (("questions.csv", 2), ("corpus.csv", 4)):
        raw = (tmp_path / "out" / name).read_bytes()
        assert raw.startswith(b"\xef\xbb\xbf"), "UTF-8 that Excel knows"
        assert (raw.count(b"\r\n"), raw.count(b"\n")) == (count + 1, count + 1), "the line ends of RFC 4180"


def test_csv_escapes_formulas_reversibly(full_run, samples, chunks, tmp_path):
    asked = [
        samples[0].model_copy(update={"id": f"={place}", "question": f"{text} ?", "answer": text})
        for place, text in enumerate(HOSTILE)
    ]
    found = [*chunks, *(chunks[0].model_copy(update={"chunk_id": f"@{n}", "text": t}) for n, t in enumerate(HOSTILE))]
    write_set(full_run.replace(samples=asked, chunks=found), [EXPORTS["csv"]], tmp_path / "out")
    rows = read(tmp_path / "out" / "questions.csv")
    assert [as_written(row["answer"]) for row in rows] == HOSTILE
    assert [as_written(row["id"]) for row in rows] == [sample.id for sample in asked]
    corpus = read(tmp_path / "out" / "corpus.csv")
    assert [as_written(row["text"]) for row in corpus] == [chunk.text for chunk in found]
    for row in (*rows, *corpus):
        for cell in row.values():
            assert cell.lstrip()[:1] not in set("=+-@＝＋－＠")
            assert cell[:1] not in set("\t\r\n\0")
