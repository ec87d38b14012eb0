"""`groundset roundtrip --against`: does a set rank retrievers as the user's own questions do?"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from evaluation_sets import cut, document, run_of, sample

from groundset import cli
from groundset.evaluation import RoundtripOptions, compare
from groundset.programs.errors import InputError
from groundset.programs.types import Chunk
from groundset.retrieval import embed
from groundset.retrieval.gold import Passage, holders, passages
from groundset.run.run import save_run

DOCUMENTS = [document(f"d{number}", 3) for number in range(8)]
CHUNKS = [chunk for each in DOCUMENTS for chunk in cut(each)]


@pytest.fixture
def save(tmp_path: Path, word_encoder: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Save a run with a question about each chunk, in words that no chunk has."""
    encoder = word_encoder()
    monkeypatch.setattr(embed, "open_embedder", lambda name: encoder)

    def make(name: str, chunks: Sequence[Chunk] = CHUNKS, documents: Any = DOCUMENTS) -> Path:
        asked = [
            sample(f"{name}-{chunk.chunk_id}", chunk, question=f"Why {name} {number}?")
            for number, chunk in enumerate(chunks)
        ]
        run = run_of(asked, documents)
        record = {"models": {"embedder": {"name": "words", "sha256": encoder.sha256}}}
        saved = {"samples": asked, "documents": documents, "chunks": run.chunks.values()}
        vectors = encoder.encode([chunk.text for chunk in run.chunks.values()])
        save_run(tmp_path / name, **saved, vectors=vectors, record=record)
        return tmp_path / name

    return make


def ranking(file: Path, found: dict[str, bool], own: Callable[[Chunk, int], str]) -> Path:
    """Write a ranking that finds all questions of a side first, or none."""
    rows = [
        {"id": name, "chunk_ids": [chunk.chunk_id] if found[side] else []}
        for number, chunk in enumerate(CHUNKS)
        for side, name in (("set", f"set-{chunk.chunk_id}"), ("own", own(chunk, number)))
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def against(run: Path, own: Path, files: Sequence[Path], *more: str) -> None:
    rankings = [part for file in files for part in ("--ranking", str(file))]
    with pytest.raises(SystemExit) as ended:
        cli.main(["roundtrip", str(run), "--against", str(own), *rankings, *more])
    assert ended.value.code == 0


def test_a_set_that_ranks_as_users_do(
    save: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        ranking(tmp_path / f"{name}.jsonl", {"set": good, "own": good}, lambda c, n: f"Where {n}?")
        for name, good in (("good", True), ("bad", False))
    ]
    own = tmp_path / "own.csv"
    rows = [f"Where {number}?,{chunk.chunk_id}\n" for number, chunk in enumerate(CHUNKS)]
    own.write_text("question,chunk_id\n" + "".join(rows), encoding="utf-8")
    against(save("set"), own, files, "--json")
    found = json.loads(capsys.readouterr().out)["agreement"]
    figures = found["figures"]
    assert len(found["methods"]) == 5 + 2 * 3
    assert found["pairs"] == 10 + 2 * 3
    assert found["told_apart"] >= 4
    assert figures["questions"] == [24, 24]
    assert figures["tau"][0][0] > 0.8
    assert figures["order_right"] == figures["told_rightly"] == [1, 1]
    assert figures["told_wrongly"] == [0, 0]
    assert figures["best"] == [str(files[0])] * 2
    assert figures["loss_of_choosing"][0] == 0
    assert figures["words"] == [[3, 3, 3], [2, 2, 2]]
    assert figures["shared_words"][0][0] < 0.5


def test_a_set_that_ranks_the_other_way(
    save: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        ranking(
            tmp_path / f"{name}.jsonl",
            {"set": good, "own": not good},
            lambda chunk, number: f"own-{chunk.chunk_id}",
        )
        for name, good in (("mine", True), ("yours", False))
    ]
    against(save("set"), save("own"), files, "--measure", "MRR")
    printed = capsys.readouterr().out
    lines = {line.split("  ")[0]: line.split() for line in printed.splitlines()}
    assert lines["best"][1:] == list(map(str, files))
    assert lines["loss of choosing"][-2:] == ["1.00", "0.00"]
    assert float(lines["told wrongly"][-2]) > 0
    assert float(lines["order right"][-2]) < 0.5
    assert "Of 16 pairs of 11 methods the own questions tell " in printed


def test_too_few_own_questions(save: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run = save("set")
    against(run, save("own", CHUNKS[:5]), [])
    printed = capsys.readouterr().out
    assert "5 own questions are too few to tell; take 20 or more." in printed
    with pytest.raises(InputError, match="few: only 3 questions with known chunks; take 20"):
        compare(RoundtripOptions(run=run, against=save("few", CHUNKS[:3])))
    others = [document(f"e{number}", 3) for number in range(8)]
    strange = save("strange", [chunk for each in others for chunk in cut(each)], others)
    with pytest.raises(InputError, match=r"strange: e[0-7].md differs in RUN"):
        compare(RoundtripOptions(run=run, against=strange))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"text": "Why?"}', "line 1: column question or query is missing"),
        ('{"query": "Why?", "chunk_id": "c9"}', "line 1, column chunk_id: no chunk c9 in "),
        ('{"query": " "}', "--against .*: give 1 to 10,000 different questions, not 0"),
    ],
)
def test_wrong_own_questions(save: Any, tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        compare(RoundtripOptions(run=save("set"), against=file))


def test_gold_is_found_in_chunks_of_another_size() -> None:
    text = (
        "The gate opens at seven. Visitors pay\n**four** crowns, children two. Dogs stay outside."
    )

    def part(name: str, start: int, end: int, doc_id: str = "a") -> Chunk:
        place = {"doc_id": doc_id, "path": "a.md", "title": "A", "start": start, "end": end}
        return Chunk(chunk_id=name, text=text[start:end], **place)

    whole = part("whole", 0, len(text))
    asked = sample("q", whole, metadata={"evidence": "Visitors pay four crowns"})
    (place,) = passages(asked, {"whole": whole})[0]
    assert text[place.start : place.end] == "Visitors pay\n**four** crowns"
    small = [part("before", 0, 30), part("after", 30, len(text)), part("copy", 0, 30, "b")]
    chunks = {chunk.chunk_id: chunk for chunk in small}
    assert holders([[[place]]], chunks) == [[["after"]]]
    assert holders([[[Passage("a", 0, 20)]]], chunks) == [[["before", "copy"]]]
