"""`groundset roundtrip`: measures, tests and what is printed."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from groundset.evaluation import MEASURES, RoundtripOptions, compare, roundtrip
from groundset.programs.errors import InputError
from groundset.programs.types import Chunk, Document, Retrieval, Sample
from groundset.retrieval import embed
from groundset.run.run import save_run

WORDS = [
    *("amber", "birch", "cedar", "delta", "frost", "fjord", "grove", "heath"),
    *("islet", "knoll", "ledge", "marsh", "nadir", "orbit", "pearl", "quartz"),
]


def chunks_of(count: int) -> list[Chunk]:
    """Return chunks of documents of three chunks each, every one about a word of its own."""
    return [
        Chunk(
            chunk_id=f"d{n // 3}-{n % 3}",
            doc_id=f"d{n // 3}",
            path=f"d{n // 3}.md",
            title="T",
            start=0,
            end=20,
            text=f"{WORDS[n]} stone path",
        )
        for n in range(count)
    ]


def sample(number: int, question: str, *groups: tuple[str, ...], chunk: Chunk) -> Sample:
    found = Retrieval(rank=1, retrieved_id="", retrieved_content="", score=0)
    return Sample(
        id=f"q{number}",
        question=question,
        answer="a",
        evolution="simple",
        language="en",
        contexts=(chunk,),
        retrieval_gt=groups,
        retrieval=found,
        probability=0.9,
    )


@pytest.fixture
def make_run(
    tmp_path: Path, word_encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Path]:
    """Write a run whose dense search knows words and whose questions name them."""
    encoder = word_encoder()
    monkeypatch.setattr(embed, "open_embedder", lambda name: encoder)

    def make(samples: list[Sample], count: int = 16, **configuration: Any) -> Path:
        chunks = chunks_of(count)
        documents = [
            Document(doc_id=f"d{n}", path=f"d{n}.md", title="T", text="x" * 20) for n in range(6)
        ]
        record = {
            "models": {"embedder": {"name": "words", "sha256": encoder.sha256}},
            "configuration": configuration,
        }
        vectors = np.asarray(encoder.encode([chunk.text for chunk in chunks]))
        out = tmp_path / "run"
        save_run(
            out, samples=samples, documents=documents, chunks=chunks, vectors=vectors, record=record
        )
        return out

    return make


def about_words(count: int = 16) -> list[Sample]:
    chunks = chunks_of(count)
    return [
        sample(n, f"find {WORDS[n]}", (chunks[n].chunk_id,), chunk=chunks[n]) for n in range(count)
    ]


def measures(*ranks: int | None) -> dict[str, float]:
    return {name: pytest.approx(measure(ranks), abs=1e-4) for name, measure in MEASURES.items()}


def test_measures_of_groups() -> None:
    assert measures(1) == dict.fromkeys(MEASURES, 1.0)
    assert measures(None) == dict.fromkeys(MEASURES, 0.0)
    assert measures(2, 7) == {
        "recall@1": 0,
        "recall@5": 0.5,
        "recall@10": 1,
        "MRR": 0.5,
        "nDCG@10": 0.5913,
    }
    assert measures(1, None)["MRR"] == 1
    assert measures(1, 1)["nDCG@10"] == 1, "one chunk may serve two groups"


def test_rankings_of_other_systems_are_compared(make_run: Any, tmp_path: Path) -> None:
    run, best, worst = make_run(about_words()), tmp_path / "best.jsonl", tmp_path / "worst.trec"
    best.write_text(
        "".join(
            json.dumps({"id": f"q{n}", "chunk_ids": [f"d{n // 3}-{n % 3}"]}) + "\n"
            for n in range(16)
        )
    )
    worst.write_text("".join(f"q{n} Q0 d5-0 1 1 t\n" for n in range(15)))
    options = RoundtripOptions.parse(
        {"run": run, "retriever": "bm25,hybrid,bm25", "ranking": (best, worst)}
    )
    found = compare(options)
    assert [result.retriever for result in found.results] == [
        "dense",
        "bm25",
        "hybrid",
        str(best),
        str(worst),
    ]
    assert [result.estimates["recall@1"].value for result in found.results] == [1, 1, 1, 1, 0]
    against = next(
        each for each in found.differences if each.worse == str(worst) and each.better == str(best)
    )
    assert against.is_significant
    assert against.gain.value == 1
    lines = found.conclusions()
    assert any(line.startswith(f"dense is better than {worst}: nDCG@10 +1.00") for line in lines)
    assert lines[-1].startswith(
        "No other significant differences with n=16; the smallest detectable is about 0."
    )


def test_any_chunk_of_a_group_serves_and_every_group_counts(make_run: Any) -> None:
    chunks = chunks_of(16)
    asked = [
        sample(0, "amber", ("d3-0", "d0-0"), chunk=chunks[0]),
        sample(1, "birch cedar", ("d0-1",), ("d0-2",), chunk=chunks[1]),
        sample(2, "delta", chunk=chunks[3]),
    ]
    found = compare(RoundtripOptions.parse({"run": make_run(asked)}))
    assert found.results[0].ranks[0][0] == 1
    assert sorted(rank or 99 for rank in found.results[0].ranks[1]) == [1, 2]
    assert [row["rank"] for row in found.rows()] == [1, 2]
    assert "Questions that no chunk answers are left out: 1." in found.notes


def test_two_retrievers_on_one_question(make_run: Any) -> None:
    found = compare(
        RoundtripOptions.parse({"run": make_run(about_words()[:1]), "retriever": "bm25"})
    )
    assert found.conclusions()[0].startswith(
        "One question cannot tell retrievers apart, so none are compared"
    )
    assert {each.p for each in found.differences} == {1.0}


def test_command(make_run: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(about_words(), max_rank=5)
    out = tmp_path / "rows.jsonl"
    roundtrip(RoundtripOptions.parse({"run": run, "retriever": "dense, bm25", "out": out}))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["retriever", "recall@1", "recall@5", "recall@10", "MRR", "nDCG@10"]
    assert lines[1].startswith("dense      1.00 (")
    assert lines[-2] == "16 questions about 6 documents; ranks beyond 50 count as not found."
    assert lines[-1].startswith("dense has an advantage: ")
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [(row["retriever"], row["rank"]) for row in (rows[0], rows[16])] == [
        ("dense", 1),
        ("bm25", 1),
    ]
    assert rows[0]["retrieved_content"] == "amber stone path"

    roundtrip(
        RoundtripOptions.parse({"run": run, "retriever": "bm25", "as_json": True, "quiet": True})
    )
    printed = capsys.readouterr()
    record = json.loads(printed.out)
    assert printed.err == ""
    assert record["retrievers"][1]["MRR"][0] == 1
    assert len(record["differences"]) == 1
    assert {"questions", "chunks", "conclusions", "notes"} <= record.keys()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retriever": "magic"}, "--retriever magic: choose from dense, bm25, hybrid"),
        ({"out": Path("/")}, r"cannot write /: it is a folder"),
        ({"ranking": (Path("none.trec"),)}, "none.trec: No such file"),
    ],
)
def test_wrong_options(make_run: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare(RoundtripOptions.parse({"run": make_run(about_words()), **options}))


def test_runs_that_cannot_be_searched(
    make_run: Any, word_encoder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run([sample(0, "nothing", chunk=chunks_of(1)[0])])
    with pytest.raises(InputError, match="no question that a chunk answers"):
        compare(RoundtripOptions.parse({"run": run}))
    shutil.rmtree(run)
    run = make_run(about_words())
    monkeypatch.setattr(embed, "open_embedder", lambda name: word_encoder("1" * 64))
    with pytest.raises(InputError, match="words: its weights differ"):
        compare(RoundtripOptions.parse({"run": run}))


def ranked(file: Path, found: Callable[[int], int | None]) -> Path:
    """Write a ranking in which the chunk of a question has the rank ``found`` of its number; None
    is never found.
    """
    lines = []
    for n, each in enumerate(about_words()):
        others = [
            chunk.chunk_id for chunk in chunks_of(16) if chunk.chunk_id != each.contexts[0].chunk_id
        ]
        rank = found(n)
        ids = (
            others
            if rank is None
            else [*others[: rank - 1], each.contexts[0].chunk_id, *others[rank - 1 :]]
        )
        lines.append(json.dumps({"id": each.id, "chunk_ids": ids}) + "\n")
    file.write_text("".join(lines), encoding="utf-8")
    return file


@pytest.mark.parametrize("written", [False, True], ids=["ranking", "written by --out"])
@pytest.mark.parametrize(
    ("found", "status", "said"),
    [
        (
            lambda n: None,
            4,
            r"\*\*Loss\*\* on 16 questions .*: `all questions`: recall@1 1\.00 → 0\.00 \(",
        ),
        (
            lambda n: 1,
            0,
            r"\*\*No loss seen\*\* .* nDCG@10 1\.00 → 1\.00 .* Losses below about 0\.\d\d could ",
        ),
        (lambda n: 2 if n < 3 else 1, 0, r"\*\*No loss seen\*\* .* nDCG@10 1\.00 → 0\.93 "),
    ],
)
def test_gate(
    make_run: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    written: bool,
    found: Any,
    status: int,
    said: str,
) -> None:
    run, old, new = (
        make_run(about_words()),
        tmp_path / "old.jsonl",
        ranked(tmp_path / "new.jsonl", found),
    )
    ranked(old, lambda n: 1)
    if written:
        baseline = tmp_path / "rows.jsonl"
        roundtrip(RoundtripOptions.parse({"run": run, "ranking": (old,), "out": baseline}))
        old = baseline
    options = {"run": run, "ranking": (new,), "baseline": old}
    assert roundtrip(RoundtripOptions.parse(options)) == status
    assert re.match(said, capsys.readouterr().out.splitlines()[-1])
    assert roundtrip(RoundtripOptions.parse({**options, "as_json": True})) == status
    record = json.loads(capsys.readouterr().out)["gate"]
    assert record["passed"] == (status == 0)
    assert len(record["changes"]) == 5


def test_gate_finds_a_loss_in_a_stratum(make_run: Any, tmp_path: Path) -> None:
    asked = about_words()
    asked[:11] = [
        each.model_copy(update={"evolution": "`x|y`"}) for each in asked[:11]
    ]  # 5 are too few to be tested
    rankings = {"ranking": (ranked(tmp_path / "new.jsonl", lambda n: None if n < 11 else 1),)}
    old = ranked(tmp_path / "old.jsonl", lambda n: 1)
    old.write_text("".join(old.read_text("utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")
    found = compare(
        RoundtripOptions.parse({"run": make_run(asked), **rankings, "baseline": old})
    ).gate
    assert found is not None
    assert [change.stratum for change in found.losses] == ["all questions"] * 5 + [
        "evolution `x|y`"
    ] * 5
    assert "`evolution 'x|y'`: recall@1 1.00 → 0.00 (" in found.markdown()
    assert found.markdown().endswith(
        f" 1 question without a ranking in `{old}` count as not found."
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"id": "q0", "retriever": "x", "recall@1": "1"},
            "line 1, column recall@1: must be a number from 0 to 1",
        ),
        ({"id": "other", "retriever": "x"}, "has no row of a question of the run"),
        ({"id": "q0", "chunk_ids": []}, "holds no rankings"),
        (None, "--baseline: name one --ranking FILE"),
    ],
)
def test_wrong_baselines(make_run: Any, tmp_path: Path, row: Any, message: str) -> None:
    (tmp_path / "old.jsonl").write_text(json.dumps(row), encoding="utf-8")
    rankings = (ranked(tmp_path / "new.jsonl", lambda n: 1),) if row else ()
    options = {
        "run": make_run(about_words()),
        "ranking": rankings,
        "baseline": tmp_path / "old.jsonl",
    }
    with pytest.raises(InputError, match=message):
        compare(RoundtripOptions.parse(options))
