"""`groundset align`: sets are carried over to other chunks and to changed documents."""

import json
import shutil
from pathlib import Path

import pytest
from evaluation_sets import sample

import groundset
from groundset.corpus.corpus import read_corpus
from groundset.corpus.options import CorpusOptions
from groundset.programs.text import plain
from groundset.retrieval import embed
from groundset.run.run import save_run
from groundset.run.store import Review

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
FERRY, CLOCK, TOWER, PIER, WEIR = (
    (
        "The ferry of Tollvik leaves the harbour at nine in the morning, and it takes forty minutes"
        " to the island."
    ),
    (
        "Brenn cast the great clock of the town in 1871, when the council had sold the old bell to"
        " a neighbour."
    ),
    (
        "The tower was painted green by the harbour master, who wanted it to be seen from the open"
        " sea in winter."
    ),
    (
        "The pier holds thirty fishing boats, and two more can lie outside of it when the wind"
        " comes from the land."
    ),
    (
        "The miller keeps the weir, for which every house above the mill pays him a sack of barley"
        " after the harvest."
    ),
)


@pytest.fixture(autouse=True)
def embedder(word_encoder, monkeypatch):
    monkeypatch.setattr(embed, "open_embedder", lambda spec: word_encoder())


def make_run(out, docs, wanted, **options):
    """Write a run on documents; ``wanted`` are questions, answers and evidence about each chunk."""
    corpus = read_corpus(CorpusOptions(documents=(docs,), **options), notify=print)
    samples = [
        sample(
            f"{chunk.chunk_id}-{number}",
            chunk,
            question=question,
            answer=answer,
            metadata={"evidence": [evidence]},
        )
        for chunk in corpus.chunks
        for number, (question, answer, evidence) in enumerate(wanted(chunk))
    ]
    reviews = [Review(sample_id=each.id, reviewer="ann", verdict="signed") for each in samples]
    record = {"configuration": options, "models": {"embedder": {"name": "words"}}}
    parts = {"samples": samples, "reviews": reviews, "record": record}
    return save_run(out, corpus, vectors=None, **parts)


def middle_line(chunk):
    """Ask about the middle of a chunk, in which no sentence must be whole."""
    words = plain(chunk.text).split()
    return [("What?", " ".join(words[-3:]), " ".join(words[len(words) // 4 : -len(words) // 4]))]


def test_other_chunks_and_back(tmp_path):
    docs = SAMPLES / "[ko]*.md"
    run = make_run(tmp_path / "run", docs, middle_line, chunk_size=400)
    for size, usual in ((800, "merged"), (200, "split")):
        there = groundset.align(run, docs, out=tmp_path / f"to-{size}", chunk_size=size)
        assert len(there) == len(run)
        assert [each.aligned for each in there].count(usual) > len(run) / 2
        for each in there:
            texts = " ".join(plain(chunk.text) for chunk in each.contexts)
            assert "".join(each.evidence[0].split()) in "".join(texts.split())
            assert [group[0] for group in each.retrieval_gt] == [
                chunk.chunk_id for chunk in each.contexts
            ]
        back = groundset.align(there, docs, out=tmp_path / f"from-{size}", chunk_size=400)
        assert [each.retrieval_gt for each in back] == [each.retrieval_gt for each in run]
        assert [each.contexts for each in back] == [each.contexts for each in run]
    assert max(len(each.retrieval_gt) for each in there) > 1


def ask(chunk):
    asked = (
        ("When does the ferry leave?", "at nine", FERRY),
        ("Who cast the clock?", "Brenn", CLOCK),
        ("Who painted the tower?", "the harbour master", TOWER),
        ("How many boats does the pier hold?", "thirty", PIER),
        ("Who keeps the weir?", "the miller", WEIR),
    )
    return [each for each in asked if each[2] in chunk.text]


def test_changed_documents(tmp_path, status_of, capsys):
    docs, new = tmp_path / "docs", tmp_path / "new"
    docs.mkdir()
    (docs / "town.md").write_text(f"# Town\n\n{FERRY}\n\n{CLOCK}\n\n{TOWER}\n")
    (docs / "harbour.md").write_text(f"# Harbour\n\n{PIER}\n")
    (docs / "old.md").write_text(f"# Weir\n\n{WEIR}\n")
    run = make_run(tmp_path / "run", docs, ask, chunk_size=150, min_length=50)
    assert len(run) == 5
    shutil.copytree(docs, new)
    (new / "old.md").rename(new / "renamed.md")
    (new / "harbour.md").write_text(
        "# Harbour\n\nSince the storm there has been nothing but sand at this place.\n"
    )
    edited = CLOCK.replace("the great clock", "the great\nclock").replace("neighbour", "neighbor")
    (new / "town.md").write_text(
        f"# Town\n\nThis is new.\n\n{FERRY}\n\n{edited}\n\n{TOWER.replace('master', 'pilot')}\n"
    )
    arguments = run.folder, new, "--out", tmp_path / "out", "--json", "--quiet"
    assert status_of("align", *arguments, "--max-lost", 0.3) == 4
    said = json.loads(capsys.readouterr().out)
    assert said["counts"] == {"same": 0, "moved": 3, "cut": 0, "merged": 0, "split": 0, "lost": 2}
    assert said["documents"] == {
        "new": ["renamed.md"],
        "changed": ["harbour.md", "town.md"],
        "gone": ["old.md"],
    }
    assert sum(bool(each["evidence_before"]) for each in said["samples"]) == 1
    assert {each["question"]: each["reason"][:24] for each in said["lost"]} == {
        "How many boats does the pier hold?": "its evidence is gone",
        "Who painted the tower?": "its evidence has changed",
    }
    found = groundset.open_run(tmp_path / "out")
    assert [(each.step, bool(each.question)) for each in found.rejects] == [("align", True)] * 2
    assert len(found.reviews) == 3
    assert found.record["asked"] == 5
    assert {each.contexts[0].path for each in found} == {"town.md", "renamed.md"}
