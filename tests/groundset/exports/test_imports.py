"""Evaluation sets of other tools become runs, and go out as they came in."""

import csv
import io
import json
import os
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from evaluation_sets import saved, two_documents
from json_lines import read, write
from refusal import refuses

import groundset
from groundset.exports.sets import joined
from groundset.programs.types import Sample
from groundset.retrieval import embed

TIME = datetime(2024, 5, 6, 7, 8, 9)
QA = [
    {
        "qid": "one",
        "query": "When does the ferry leave?",
        "retrieval_gt": [["c2", "c1"], ["c3"]],
        "generation_gt": ["at nine", "nine o'clock"],
        "difficulty": 3,
    },
    {
        "qid": "two",
        "query": "Who cast the clock?",
        "retrieval_gt": [["c3"]],
        "generation_gt": ["Brenn"],
        "difficulty": 1,
    },
]


def corpus_row(name, text, **changes):
    metadata = {
        "last_modified_datetime": TIME,
        "prev_id": None,
        "next_id": None,
        **changes.pop("metadata", {}),
    }
    return {
        "doc_id": name,
        "contents": text,
        "path": "town.md",
        "start_end_idx": None,
        "metadata": metadata,
        **changes,
    }


CORPUS = [
    corpus_row("c1", "The ferry leaves at nine.", start_end_idx=[7, 9]),
    corpus_row("c2", "At nine the ferry leaves."),
    corpus_row("c3", "Brenn cast the clock.", path="clock.md"),
]


def write_tables(folder, qa=QA, corpus=CORPUS):
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(qa), folder / "qa.parquet")
    pq.write_table(pa.Table.from_pylist(corpus), folder / "corpus.parquet")
    return folder


@pytest.fixture(autouse=True)
def embedder(word_encoder, monkeypatch):
    monkeypatch.setattr(embed, "open_embedder", lambda spec: word_encoder())


def imported(*files, out, format="autorag"):
    return groundset.import_files(files, out=out, format=format, quiet=True)


def test_command_imports_a_folder(tmp_path, status_of, capsys):
    source = write_tables(tmp_path / "foreign")
    assert status_of("import", source, "--format", "autorag", "--out", tmp_path / "run") == 0
    assert capsys.readouterr().out == f"2 samples on 3 chunks of 2 documents: {tmp_path / 'run'}\n"
    one, two = groundset.open_run(tmp_path / "run")
    assert one.metadata["imported"] == {"difficulty": 3}
    assert [chunk.chunk_id for chunk in one.contexts] == ["c2", "c3"]
    assert one.evolution == "imported"
    assert one.language == "en"
    assert one.probability is None
    assert two.retrieval.rank == 1
    assert two.retrieval.retrieved_id == "c3"
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["source"] == {"format": "autorag", "files": ["foreign"]}
    assert record["models"]["embedder"]["name"] == "words"
    assert str(tmp_path) not in json.dumps(record)


@pytest.mark.parametrize(
    ("format", "saved_with"), [("autorag", ""), ("csv", ""), ("csv", ";"), ("csv", "\t")]
)
def test_import_of_an_export_is_identical(tmp_path, format, saved_with):
    whole = two_documents()
    formula = whole.samples[0].model_copy(
        update={"question": "=1;-2\n'3", "answer": "- nine\n- ten"}
    )
    run = saved(
        tmp_path / "run", [formula, whole.samples[1].model_copy(update={"retrieval_gt": ()})]
    )
    groundset.export(run, format=format, out=tmp_path / "out")
    for file in (tmp_path / "out").glob("*.csv") if saved_with else ():
        rows = list(csv.reader(io.StringIO(file.read_text(encoding="utf-8-sig"))))
        with file.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream, delimiter=saved_with).writerows(rows)
    again = imported(tmp_path / "out", out=tmp_path / "again", format=format)
    assert list(again.chunks.values()) == list(run.chunks.values()), "places, titles and all"
    texts = [[document.text for document in each.documents.values()] for each in (again, run)]
    assert texts[0] == texts[1]
    for name in ("id", "question", "answer", "contexts", "retrieval_gt"):
        assert [getattr(each, name) for each in again] == [getattr(each, name) for each in run], (
            name
        )


def test_autorag_keeps_rows_offsets_and_metadata(tmp_path):
    more = [
        {"lang": "en", "page": 3, "tags": ["a", "b"], "box": {"x": 1.5, "y": None}},
        {"lang": "no\u2028\x1b[31m<script>", "page": None, "tags": []},
        {"lang": "de", "page": 5, "seen": datetime(2020, 1, 2)},
    ]
    given = [
        {**row, "metadata": {**row["metadata"], **each}}
        for row, each in zip(CORPUS, more, strict=True)
    ]
    run = imported(write_tables(tmp_path / "foreign", corpus=given), out=tmp_path / "run")
    groundset.export(run, format="autorag", out=tmp_path / "out")
    qa, corpus = (
        pq.read_table(tmp_path / "out" / f"{name}.parquet").to_pylist() for name in ("qa", "corpus")
    )
    assert qa == [
        {name: value for name, value in row.items() if name != "difficulty"} for row in QA
    ]
    for row, before in zip(corpus, CORPUS, strict=True):
        for name in ("doc_id", "contents", "path"):
            assert row[name] == before[name]
    assert corpus[0]["start_end_idx"] == [7, 9], "though it does not fit"
    first, second, third = (row["metadata"] for row in corpus)
    assert first["tags"] == '["a", "b"]'
    assert first["page"] == "3"
    assert second["lang"] == more[1]["lang"]
    assert second["page"] is None
    assert third["seen"] == "2020-01-02T00:00:00"


def test_autorag_accepts_flat_values_and_unanswerable_questions(tmp_path, capsys):
    qa = [
        {
            "qid": 1,
            "query": "When?",
            "retrieval_gt": ["c1", "c2"],
            "generation_gt": "nine",
            "chunk_ids": None,
        },
        {
            "qid": 2,
            "query": "Why?",
            "retrieval_gt": [],
            "generation_gt": "unknown",
            "chunk_ids": ["c1"],
        },
        {
            "qid": 3,
            "query": "Who?",
            "retrieval_gt": [],
            "generation_gt": "unknown",
            "chunk_ids": None,
        },
    ]
    corpus = [{"doc_id": name, "contents": f"Text {name}."} for name in ("c1", "c2")]
    source, out = write_tables(tmp_path / "foreign", qa, corpus), tmp_path / "run"
    first, second = groundset.import_files(source, out=out, format="autorag")
    assert "left out, because no chunk is named: 1 question" in capsys.readouterr().err
    assert first.id == "1"
    assert first.answer == "nine"
    assert first.retrieval_gt == (("c1", "c2"),)
    assert second.retrieval_gt == ()
    assert [chunk.chunk_id for chunk in second.contexts] == ["c1"]
    assert first.contexts[0].path == "foreign"


@pytest.mark.parametrize(
    ("qa", "corpus", "message"),
    [
        ({"generation_gt": []}, {}, r"qa.parquet, row 2: question two has no answer"),
        ({"retrieval_gt": [["gone"]]}, {}, "row 2: there is no chunk gone$"),
        (
            {"retrieval_gt": [["gone"]], "chunk_ids": ["c1"]},
            {},
            "row 2: there is no chunk gone$",
        ),
        (
            {"retrieval_gt": [["c1"], []]},
            {},
            "row 2, column retrieval_gt: must be lists of chunk ids",
        ),
        ({"qid": "one"}, {}, "row 2: question one is there twice"),
        ({"query": ""}, {}, "row 2, column question: is empty"),
        ({}, {"doc_id": "c1"}, "corpus.parquet, row 3: chunk c1 has another text in .*row 1"),
    ],
)
def test_wrong_autorag_rows_are_named(tmp_path, qa, corpus, message):
    write_tables(
        tmp_path / "foreign", [QA[0], {**QA[1], **qa}], [*CORPUS[:2], {**CORPUS[2], **corpus}]
    )
    with refuses(message):
        imported(tmp_path / "foreign", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_wrong_files_are_named(tmp_path):
    good, out = write_tables(tmp_path / "good"), tmp_path / "run"
    (tmp_path / "empty").mkdir()
    far = write_tables(tmp_path / "far")
    time = pa.array([2**62], pa.timestamp("us"))
    pq.write_table(
        pa.table({"doc_id": ["c1"], "contents": ["Later."], "seen": time}), far / "corpus.parquet"
    )
    tables = {
        "questions.csv": b"id,chunk_ids,probability\nq,[],\n",
        "corpus.csv": b"chunk_id,text\nc,=1,2\n",
    }
    for name, content in tables.items():
        (tmp_path / name).write_bytes(content)
    for files, format_, message in (
        (
            [tmp_path / name for name in tables],
            "csv",
            "corpus.csv, line 2: more cells than columns",
        ),
        ([tmp_path / "no.jsonl"], "jsonl", "no.jsonl: No such file"),
        ([good], "excel", "format excel: input should be 'autorag', 'csv' or 'jsonl'"),
        ([write(tmp_path / "none.jsonl", [])], "jsonl", "there is no question"),
        ([tmp_path / "empty"], "autorag", "autorag is two files, qa.parquet and corpus.parquet"),
        ([far], "autorag", "corpus.parquet, after row 0: date value out of range"),
    ):
        with refuses(message):
            imported(*files, out=out, format=format_)
    with refuses("holds other files"):
        imported(good, out=good)
    assert not out.exists()


def test_a_set_over_the_corpus_of_a_run_joins_it(tmp_path):
    run = saved(tmp_path / "run")
    groundset.export(run, format="csv", out=tmp_path / "out")
    with (tmp_path / "out" / "corpus.csv").open("w", newline="") as stream:
        texts = [("chunk_id", "text"), *((name, each.text) for name, each in run.chunks.items())]
        csv.writer(stream).writerows(texts)
    rows = (tmp_path / "out" / "questions.csv").read_text().replace("q-1", "mine")
    (tmp_path / "out" / "questions.csv").write_text(rows)
    own = imported(tmp_path / "out", out=tmp_path / "own", format="csv")
    found = joined([own, run])
    assert {each.id for each in found.samples} == {"mine", *(each.id for each in run)}
    assert found.documents == run.documents
    assert all(
        chunk == run.chunks[chunk.chunk_id] for each in found.samples for chunk in each.contexts
    )


def test_tables_of_ones_own_need_few_columns_and_all_that_are_missing_are_named(tmp_path):
    (tmp_path / "corpus.csv").write_text("chunk_id,text\nc1,The ferry leaves at nine.\n")
    questions = tmp_path / "questions.csv"
    questions.write_text('Subject,Resolution,retrieval_gt\nFerry is late,It waits.,"[""c1""]"\n')
    [sample] = imported(tmp_path, out=tmp_path / "run", format="csv")
    assert (sample.question, sample.answer, sample.retrieval_gt) == (
        "Ferry is late",
        "It waits.",
        (("c1",),),
    )
    questions.write_text("id,mood\n1,calm\n")
    with refuses("questions.csv: there is no column question, answer, retrieval_gt or chunk_ids;"):
        imported(tmp_path, out=tmp_path / "again", format="csv")


def test_import_from_a_folder_that_is_not_utf8(tmp_path):
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    write_tables(tmp_path / "foreign").rename(odd)
    assert [sample.id for sample in imported(odd, out=tmp_path / "run")] == ["one", "two"]


def test_samples_of_a_run_come_back_whole(tmp_path):
    pair, single = two_documents().samples[1], two_documents().samples[0]
    samples = [
        pair.model_copy(update={"metadata": {"imported": {"difficulty": 3}}, "kind": "time"}),
        single.model_copy(update={"retrieval_gt": ()}),
    ]
    run = saved(tmp_path / "run", samples)
    first, second = read(tmp_path / "run" / "samples.jsonl")
    file = write(tmp_path / "rows.jsonl", [{**first, "author": "ann"}, second])
    again = imported(file, out=tmp_path / "again", format="jsonl")
    assert again[0].metadata == {"imported": {"difficulty": 3, "author": "ann"}}
    assert again[1].retrieval_gt == (), "unanswerable"
    same = set(Sample.model_fields) - {"metadata", "retrieval", "contexts"}
    assert [each.model_dump(include=same) for each in again] == [
        each.model_dump(include=same) for each in run
    ]
    for mine, theirs in zip(again, run, strict=True):
        assert [chunk.text for chunk in mine.contexts] == [chunk.text for chunk in theirs.contexts]


CLOCK = {"text": "Brenn cast the clock.", "path": "C:\\Users\\me\\clock.docx"}


def test_jsonl_rows(tmp_path):
    rows = [
        {
            "question": "When?",
            "answer": "nine",
            "contexts": ["The ferry leaves at nine."],
            "author": "ann",
        },
        "",
        {"id": 7, "question": "Who?", "answer": "Brenn", "language": "en", "contexts": [CLOCK]},
        {"question": "And?", "answer": "both", "contexts": ["The ferry leaves at nine.", CLOCK]},
    ]
    run = imported(write(tmp_path / "rows.jsonl", rows), out=tmp_path / "run", format="jsonl")
    assert len(run.chunks) == 2
    assert [len(sample.retrieval_gt) for sample in run] == [1, 1, 2]
    assert run[0].metadata["imported"] == {"author": "ann"}
    assert run[1].id == "7"
    assert [chunk.title for chunk in run.chunks.values()] == ["", "clock"]
    row = {"question": "When?", "answer": "nine", "contexts": [{"text": "a", "chunk_id": "x"}]}
    for bad, message in (
        ({**row, "contexts": [3]}, r"line 2, column contexts: must be a list"),
        (
            {**row, "contexts": [{"text": "b", "chunk_id": "x"}]},
            r"line 2, contexts: chunk x has another text",
        ),
        (
            {**row, "contexts": [{"text": "a", "headings": "I"}]},
            "line 2, contexts: headings: input should be a valid tuple",
        ),
        (
            {**row, "contexts": [{"text": "a", "start": 2**70, "end": 2**71}]},
            "line 2, contexts: metadata: a number does not fit 64 bits",
        ),
    ):
        with refuses(message):
            imported(
                write(tmp_path / "bad.jsonl", [row, bad]), out=tmp_path / "none", format="jsonl"
            )
