"""Importing evaluation sets, and exporting them again."""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from loaded_run import loaded_run
from scripted_run import Encoder

import groundset
from groundset.engine.config import make_config
from groundset.progress import Progress
from groundset.retrieval import embedder
from groundset.retrieval_eval.configs import own_retriever
from groundset.run import Run, save_run
from groundset.sets.exporting import export_run, exported_run, write_set
from groundset.sets.exports import EXPORTS
from groundset.sets.importing import import_set
from groundset.sets.imports.beir import read_beir
from groundset.sets.measuring import with_ranks
from groundset.store.record import sample_row
from programs.errors import InputError

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


def corpus_row(name: str, text: str, **changes: Any) -> dict[str, Any]:
    metadata = {"last_modified_datetime": TIME, "prev_id": None, "next_id": None, **changes.pop("metadata", {})}
    return {"doc_id": name, "contents": text, "path": "town.md", "start_end_idx": None, "metadata": metadata, **changes}


CORPUS = [
    corpus_row("c1", "The ferry leaves at nine."),
    corpus_row("c2", "At nine the ferry leaves."),
    corpus_row("c3", "Brenn cast the clock.", path="clock.md"),
]


def write_tables(folder: Path, qa: list[dict[str, Any]] = QA, corpus: list[dict[str, Any]] = CORPUS) -> Path:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(qa), folder / "qa.parquet")
    pq.write_table(pa.Table.from_pylist(corpus), folder / "corpus.parquet")
    return folder


def write_lines(file: Path, *rows: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def imported(*files: Path, out: Path, **options: Any) -> list[str]:
    defaults = {"embedder": "words", "progress": Progress(quiet=True), "load_embedder": Encoder}
    return import_set(files, out, **{**defaults, **options})


def test_benchmark_of_auto_rag_eval_becomes_a_run(tmp_path: Path) -> None:
    rows = [{"context": "The ferry leaves at nine.", "Question": "When does the ferry leave?", "Answer": "at nine"}]
    file = tmp_path / "benchmark.json"
    file.write_text(json.dumps(rows), encoding="utf-8")
    imported(file, out=tmp_path / "run")
    [sample] = Run(tmp_path / "run")
    assert (sample.question, sample.answer, sample.contexts[0].text) == (
        "When does the ferry leave?", "at nine", "The ferry leaves at nine.",
    )  # fmt: skip


def exported(run: Path, out: Path) -> tuple[bytes, bytes]:
    export_run(run, "autorag", out)
    return (out / "qa.parquet").read_bytes(), (out / "corpus.parquet").read_bytes()


def there_and_back(folder: Path, source: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Import a set, export it, import and export that; the last two are the same, and their rows are returned."""
    imported(source, out=folder / "run")
    first = exported(folder / "run", folder / "first")
    imported(folder / "first", out=folder / "again")
    assert exported(folder / "again", folder / "second") == first
    for run in ("run", "again"):
        after = Run.loaded(folder / run)
        texts = {document.doc_id: document.text for document in after.documents}
        assert all(texts[chunk.doc_id][chunk.start : chunk.end] == chunk.text for chunk in after.chunks)
    qa, corpus = (pq.read_table(folder / "first" / f"{name}.parquet").to_pylist() for name in ("qa", "corpus"))
    return qa, corpus


def test_autorag_export_of_an_import_is_identical(tmp_path: Path) -> None:
    first = loaded_run()
    save_run(tmp_path / "run", first, first.lineage("sample"))
    before = exported(tmp_path / "run", tmp_path / "out")
    imported(tmp_path / "out", out=tmp_path / "again")
    assert exported(tmp_path / "again", tmp_path / "second") == before
    after = Run.loaded(tmp_path / "again")
    assert after.chunks == first.chunks, "places, titles and all"
    assert [document.text for document in after.documents] == [document.text for document in first.documents]
    kept = [sample.model_copy(update={"answer": ""}) for sample in exported_run(tmp_path / "run").samples]
    assert [sample.contexts for sample in after.samples] == [sample.contexts for sample in kept]


def test_autorag_keeps_columns_and_metadata(tmp_path: Path) -> None:
    qa, corpus = there_and_back(tmp_path, write_tables(tmp_path / "foreign"))
    assert qa == [{name: value for name, value in row.items() if name != "difficulty"} for row in QA]
    columns = ("doc_id", "contents", "path", "start_end_idx")
    assert [{name: row[name] for name in columns} for row in corpus] == [
        {name: row[name] for name in columns} for row in CORPUS
    ]
    for row, before in zip(corpus, CORPUS, strict=True):
        assert {name: row["metadata"][name] for name in before["metadata"]} == before["metadata"], "neighbours too"
    one, two = Run.loaded(tmp_path / "run").samples
    assert (one.answer, one.metadata["answer_variants"]) == ("at nine", ["nine o'clock"])
    assert one.metadata["imported"] == {"difficulty": 3}
    assert [chunk.chunk_id for chunk in one.contexts] == ["c2", "c3"]
    assert two.retrieval.rank == 1
    assert one.evolution == "imported"


def test_autorag_keeps_offsets(tmp_path: Path) -> None:
    text = "First line.\nSecond line.\n\nThird."
    spans = [(0, 11), (6, 24), (26, 32)]
    rows = [corpus_row(f"c{n}", text[slice(*span)], start_end_idx=list(span)) for n, span in enumerate(spans, 1)]
    _, corpus = there_and_back(tmp_path, write_tables(tmp_path / "foreign", corpus=rows))
    assert [row["start_end_idx"] for row in corpus] == [list(span) for span in spans]
    assert Run.loaded(tmp_path / "run").documents[0].text == text.replace("\n\n", "\n\n")
    for number, wrong in enumerate(([1, 12], [-1, 10], [10**12, 10**12 + 11])):
        folder = tmp_path / str(number)
        folder.mkdir()
        changed = [{**rows[0], "start_end_idx": wrong}, *rows[1:]]
        _, corpus = there_and_back(folder, write_tables(folder / "foreign", corpus=changed))
        assert [row["start_end_idx"] for row in corpus] == [wrong, *map(list, spans[1:])], "they go out as they came"
        assert len(Run.loaded(folder / "run").documents[0].text) < 100


def test_autorag_keeps_unknown_metadata(tmp_path: Path) -> None:
    late = datetime(2025, 1, 1)
    foreign = [
        {"prev_id": "c3", "next_id": "c2", "lang": "en", "page": 3, "tags": ["a", "b"], "box": {"x": 1.5, "y": None}},
        {
            "last_modified_datetime": late,
            "lang": "no\u2028\x1b[31m<script>",
            "page": None,
            "tags": [],
            "score": float("nan"),
        },
        {"lang": "de", "page": 5, "seen": datetime(2020, 1, 2), "big": 2**62},
    ]
    rows = [{**row, "metadata": {**row["metadata"], **more}} for row, more in zip(CORPUS, foreign, strict=True)]
    _, corpus = there_and_back(tmp_path, write_tables(tmp_path / "foreign", corpus=rows))
    first, second, third = (row["metadata"] for row in corpus)
    assert (first["prev_id"], first["next_id"], first["tags"], first["box"]["x"]) == ("c3", "c2", ["a", "b"], 1.5)
    assert (second["last_modified_datetime"], second["lang"], second["page"]) == (late, foreign[1]["lang"], None)
    assert (third["seen"], third["big"], third["page"]) == ("2020-01-02T00:00:00", 2**62, 5)
    assert "score" not in first, "no value anywhere"


def test_metadata_without_a_common_type_is_json(tmp_path: Path) -> None:
    rows = [
        {"question": f"What is {n}?", "answer": "it", "contexts": [{"text": f"It is {n}.", "chunk_id": f"c{n}"}]}
        for n in range(3)
    ]
    imported(write_lines(tmp_path / "rows.jsonl", *rows), out=tmp_path / "run")
    found = exported_run(tmp_path / "run")
    odd = ({"a": {}, "b": 1}, {"a": {"c": 1}, "b": "one"}, {"b": 2**70})
    chunks = [chunk.model_copy(update={"metadata": more}) for chunk, more in zip(found.chunks, odd, strict=True)]
    write_set(found.replace(chunks=chunks), [EXPORTS["autorag"]], tmp_path / "out")
    corpus = pq.read_table(tmp_path / "out" / "corpus.parquet").to_pylist()
    assert [row["metadata"]["b"] for row in corpus] == ["1", '"one"', str(2**70)]
    assert [row["metadata"]["a"] for row in corpus] == [{"c": None}, {"c": 1}, None]


def test_import_judges_and_keeps_all_questions(tmp_path: Path) -> None:
    summary = imported(write_tables(tmp_path / "foreign"), out=tmp_path / "run", format="autorag")
    assert summary[0] == (
        "2 samples (imported 2) on 3 chunks of 2 documents, made by "
        "`groundset import foreign --format autorag --embedder words`."
    )
    run = groundset.open_run(tmp_path / "run")
    for sample in run:
        (judged,) = sample.trail
        assert (judged.step, judged.probability) == ("judge", sample.probability)
        assert judged.verdict in ("good", "bad")
        assert 0 < sample.probability < 1
    assert (run.rejects, run.record["calls"], run.record["models"]["lm"]["name"]) == ([], 0, "unknown")
    assert run.record["models"]["embedder"] == {"name": "words", "sha256": Encoder.sha256}
    assert str(tmp_path) not in json.dumps(run.record["lineage"])


@pytest.mark.parametrize(
    ("qa", "corpus", "message"),
    [
        ({"generation_gt": []}, {}, r"qa.parquet, row 2: question two has no answer; .* --unanswered"),
        ({"generation_gt": [" "]}, {}, "row 2: question two has no answer"),
        ({"retrieval_gt": [["gone"]]}, {}, "row 2: there is no chunk gone in .*corpus.parquet"),
        ({"retrieval_gt": [["c1"], []]}, {}, "row 2, column retrieval_gt: must be .* lists of chunk ids"),
        ({"qid": "one"}, {}, "row 2: duplicate question id one; .*row 1"),
        ({"query": ""}, {}, "row 2, column query: is empty"),
        ({}, {"doc_id": "c1"}, "corpus.parquet, row 3: duplicate chunk id c1"),
        ({}, {"contents": " "}, "row 3, column contents: is empty"),
        ({}, {"start_end_idx": [1, 2, 3]}, "row 3, column start_end_idx: must be two whole numbers"),
        ({}, {"contents": None}, "row 3: column contents is missing"),
    ],
)
def test_invalid_autorag_rows(tmp_path: Path, qa: dict[str, Any], corpus: dict[str, Any], message: str) -> None:
    write_tables(tmp_path / "foreign", [QA[0], {**QA[1], **qa}], [*CORPUS[:2], {**CORPUS[2], **corpus}])
    with pytest.raises(InputError, match=message) as error:
        imported(tmp_path / "foreign", out=tmp_path / "run", load_embedder=None)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_autorag_accepts_flat_values(tmp_path: Path) -> None:
    qa = [{"qid": 1, "query": "When?", "retrieval_gt": ["c1", "c2"], "generation_gt": "nine"}]
    corpus = [{"doc_id": name, "contents": f"Text {name}."} for name in ("c1", "c2")]
    there_and_back(tmp_path, write_tables(tmp_path / "foreign", qa, corpus))
    (sample,) = Run.loaded(tmp_path / "run").samples
    assert (sample.id, sample.answer, sample.retrieval_gt) == ("1", "nine", (("c1", "c2"),))


def test_import_from_a_folder_that_is_not_utf8(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    write_tables(tmp_path / "foreign").rename(odd)
    imported(odd, out=tmp_path / "run")
    assert [sample.id for sample in Run.loaded(tmp_path / "run").samples] == ["one", "two"]


def test_invalid_files(tmp_path: Path) -> None:
    good, out = write_tables(tmp_path / "good"), tmp_path / "run"
    (tmp_path / "empty").mkdir()
    broken = tmp_path / "broken"
    broken.mkdir()
    for name in ("qa", "corpus"):
        (broken / f"{name}.parquet").write_bytes(b"PAR1 no more")
    cut_off = write_tables(tmp_path / "cut")
    whole = (cut_off / "corpus.parquet").read_bytes()
    (cut_off / "corpus.parquet").write_bytes(whole[:40] + bytes(200) + whole[240:])
    twice = tmp_path / "twice"
    twice.mkdir()
    for name in ("one", "two"):
        (twice / f"{name}.parquet").write_bytes((good / "qa.parquet").read_bytes())
    far = write_tables(tmp_path / "far")
    time = pa.array([2**62], pa.timestamp("us"))
    pq.write_table(pa.table({"doc_id": ["c1"], "contents": ["Later."], "seen": time}), far / "corpus.parquet")
    text = write_lines(tmp_path / "notes.txt", "mine")
    for files, format_, message in (
        ([tmp_path / "no"], None, "no such file or folder"),
        ([tmp_path / "empty"], None, "format; choose one of autorag, autorageval, beir, jsonl with --format"),
        ([text], None, "cannot detect the format"),
        ([text], "excel", "--format excel: no such format; choose one of autorag, autorageval, beir, jsonl"),
        ([text], "jsonl", "not .jsonl files"),
        ([tmp_path / "empty"], "autorag", "autorag is two files, qa.parquet and corpus.parquet"),
        ([tmp_path / "empty"], "beir", "beir is one folder with corpus.jsonl, queries.jsonl and qrels"),
        ([good / "qa.parquet"], "beir", "beir is one folder"),
        ([broken], None, "is not a parquet file"),
        ([cut_off], None, "corpus.parquet is damaged"),
        ([far], None, "corpus.parquet, after row 0: date value out of range"),
        ([good / "qa.parquet", good / "corpus.parquet", text], "autorag", "leave it out"),
        ([twice], "autorag", "one must have the columns doc_id and contents, the other qid and query"),
    ):
        with pytest.raises(InputError, match=message) as error:
            imported(*files, out=out, format=format_, load_embedder=None)
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="holds other files"):
        imported(good, out=good)
    assert not out.exists()


def test_beir_splits_and_judgements(tmp_path: Path) -> None:
    folder = tmp_path / "beir"
    write_lines(
        folder / "corpus.jsonl",
        {"_id": "a", "title": "Ferry", "text": "The ferry leaves at nine."},
        {"_id": "b", "title": " ", "text": "It leaves at nine, the ferry.", "metadata": {"url": "x"}},
        {"_id": "c", "title": "Nothing", "text": ""},
        {"_id": "d", "title": " ", "text": " \n"},
    )
    write_lines(
        folder / "queries.jsonl",
        {"_id": "1", "text": "When?", "metadata": {"answer": "nine", "answers": ["nine", "9"]}},
        {"_id": "2", "text": "Where?", "metadata": {"answer": "at the quay", "retrieval_gt": [["a"], ["b"]]}},
        {"_id": "3", "text": "Why?"},
    )
    write_lines(folder / "qrels" / "train.tsv", "query-id\tcorpus-id\tscore", "1\ta\t1", "1\tb\t2", "3\ta\t0")
    write_lines(folder / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore", "2\ta\t1", "2\tb\t1")
    imported(folder, out=tmp_path / "run")
    after = Run.loaded(tmp_path / "run")
    assert [chunk.chunk_id for chunk in after.chunks] == ["a", "b"]
    assert after.chunks[1].metadata == {"url": "x", "start_end_idx": None}
    one, two = after.samples
    assert (one.split, one.retrieval_gt) == ("train", (("b", "a"),))
    assert (one.answer, one.metadata["answer_variants"]) == ("nine", ["9"])
    assert (two.split, two.retrieval_gt) == ("test", (("a",), ("b",)))
    (parent,) = groundset.open_run(tmp_path / "run").record["lineage"]["parents"]
    assert parent["samples"] == 2

    write_lines(folder / "qrels" / "test.tsv", "1\ta\t1")
    with pytest.raises(InputError, match=r"train.tsv, line 2: question 1 is also in test.tsv"):
        imported(folder, out=tmp_path / "none", load_embedder=None)
    (folder / "qrels" / "train.tsv").unlink()
    for line, message in (
        ("1\tz\t1", r"test.tsv, line 1: chunk z is missing from corpus.jsonl"),
        ("1 a 1", r"test.tsv, line 1: must be query-id, corpus-id, score"),
        ("1\ta\tmuch", r"test.tsv, line 1: must be"),
        ("1\tc\t1", r"chunk c is missing from corpus.jsonl, or empty"),
        ("3\ta\t1", r"queries.jsonl, line 3: question 3 has no answer"),
        ("9\ta\t1", "there is no question"),
        (f"{'x' * 200_000}\ta\t1", "test.tsv, line 1: must be"),
    ):
        write_lines(folder / "qrels" / "test.tsv", line)
        with pytest.raises(InputError, match=message):
            imported(folder, out=tmp_path / "none", load_embedder=None)
    write_lines(folder / "qrels" / "test.tsv", "3\ta\t1")
    imported(folder, out=tmp_path / "open", unanswered=True)
    (sample,) = Run.loaded(tmp_path / "open").samples
    assert (sample.answer, sample.split) == ("", None)


def test_beir_notes_and_string_answers(tmp_path: Path) -> None:
    folder = tmp_path / "beir"
    write_lines(folder / "corpus.jsonl", {"_id": "a", "text": "The ferry leaves at nine."})
    queries = folder / "queries.jsonl"
    write_lines(queries, {"_id": 1, "text": "When?", "metadata": {"answers": "nine"}}, {"_id": 2, "text": "Why?"})
    write_lines(folder / "qrels" / "test.tsv", "1\ta\t1", "9\ta\t1", "8\ta\t1")
    foreign = read_beir([folder])
    assert [question.answer for question in foreign.questions] == ["nine"]
    unjudged, missing = foreign.notes
    assert "1 question " in unjudged
    assert "2 questions of qrels missing from queries.jsonl, for example 8" in missing
    write_lines(queries, {"_id": "1", "text": "When?", "metadata": {"answers": 9}})
    with pytest.raises(InputError, match="answers must be strings"):
        read_beir([folder])


def test_beir_import_of_an_export(tmp_path: Path) -> None:
    first = loaded_run()
    pair = first.samples[1].model_copy(update={"retrieval_gt": (("ferry-0002", "ferry-0001"), ("clock-0001",))})
    first = first.replace(samples=[first.samples[0], pair, *first.samples[2:]])
    save_run(tmp_path / "run", first, first.lineage("sample"))
    export_run(tmp_path / "run", "beir", tmp_path / "out")
    imported(tmp_path / "out", out=tmp_path / "again")
    after, kept = Run.loaded(tmp_path / "again"), exported_run(tmp_path / "run").samples
    assert after.chunks == first.chunks
    for name in ("id", "question", "answer", "evolution", "language", "split", "retrieval_gt"):
        assert [getattr(sample, name) for sample in after.samples] == [getattr(sample, name) for sample in kept], name


def test_import_of_samples_jsonl_is_lossless(tmp_path: Path) -> None:
    first = loaded_run()
    save_run(tmp_path / "run", first, first.lineage("sample"))
    imported(tmp_path / "run" / "samples.jsonl", out=tmp_path / "again")
    after = Run.loaded(tmp_path / "again")
    assert after.samples == with_ranks(first).samples
    assert after.chunks == first.chunks


def test_unknown_columns_are_added_to_imported_metadata(tmp_path: Path) -> None:
    sample = loaded_run().samples[0].model_copy(update={"metadata": {"imported": {"difficulty": 3}}})
    row = sample_row(sample)
    contexts = [{**context, "metadata": {"page": 7}} for context in row["contexts"]]
    imported(write_lines(tmp_path / "rows.jsonl", {**row, "contexts": contexts, "author": "ann"}), out=tmp_path / "run")
    after = Run.loaded(tmp_path / "run")
    assert after.samples[0].metadata == {"imported": {"difficulty": 3, "author": "ann"}}
    assert [chunk.metadata for chunk in after.chunks] == [{"page": 7}]


@pytest.mark.parametrize("groups", [[], [["gone"], ["ferry-0001"]]])
def test_samples_without_known_groups_need_all_contexts(tmp_path: Path, groups: list[list[str]]) -> None:
    sample, chunks = loaded_run().samples[0], loaded_run().chunks[:2]
    row = {**sample_row(sample.model_copy(update={"contexts": tuple(chunks)})), "retrieval_gt": groups}
    imported(write_lines(tmp_path / "samples.jsonl", row), out=tmp_path / "run")
    (after,) = Run.loaded(tmp_path / "run").samples
    assert after.retrieval_gt == (("ferry-0001",), ("ferry-0002",))


def test_foreign_focus_values_are_renamed(tmp_path: Path) -> None:
    row = {"answer": "nine", "contexts": ["The ferry leaves at nine."]}
    foci = [3, {"a": 1}, ["x", 1], None, "The ferry leaves at nine.", ["The ferry", "leaves"]]
    rows = [{**row, "question": f"When {at}?", "metadata": {"focus": focus}} for at, focus in enumerate(foci)]
    imported(write_lines(tmp_path / "rows.jsonl", *rows), out=tmp_path / "run")
    metadata = [sample.metadata for sample in Run.loaded(tmp_path / "run").samples]
    assert metadata == [{"focus" if at > 3 else "imported_focus": focus} for at, focus in enumerate(foci)]


def test_jsonl_rows(tmp_path: Path) -> None:
    file = write_lines(
        tmp_path / "rows.jsonl",
        {"question": "When?", "answer": "nine", "contexts": ["The ferry leaves at nine."], "author": "ann"},
        "",
        {"id": 7, "question": "Who?", "answer": "Brenn", "passage": "Brenn cast the clock.", "language": "en"},
        {
            "question": "And?",
            "answer": "both",
            "contexts": ["The ferry leaves at nine.", {"text": "Brenn cast the clock."}],
        },
    )
    imported(file, out=tmp_path / "run")
    after = Run.loaded(tmp_path / "run")
    assert len(after.chunks) == 2
    assert [len(sample.retrieval_gt) for sample in after.samples] == [1, 1, 2]
    assert after.samples[0].metadata["imported"] == {"author": "ann"}
    assert after.samples[1].id == "7"
    row = {"question": "When?", "answer": "nine", "contexts": [{"text": "a", "chunk_id": "x"}]}
    for bad, message in (
        ({**row, "contexts": []}, r"line 2, column contexts: must be a non-empty list"),
        ({**row, "contexts": None}, r"line 2: column contexts is missing"),
        ({**row, "contexts": [3]}, r"line 2, contexts: must be strings"),
        ({**row, "contexts": [{"text": "b", "chunk_id": "x"}]}, r"line 2, contexts: .* chunk x differs .*line 1"),
        (
            {**row, "contexts": [{"text": "a", "headings": "Intro"}]},
            "line 2, contexts, column headings: must be a list",
        ),
        ({**row, "contexts": [{"text": "a", "headings": 1}]}, "line 2, contexts, column headings: must be a list"),
        ({**row, "answer": ""}, "line 2: question .* has no answer"),
        ({**row, "answer": " "}, "line 2: question .* has no answer"),
        ({**row, "question": None}, "line 2: column question is missing"),
        (row, "line 2: duplicate question id"),
        ('{"question": "\\ud800"}', "line 2: not valid Unicode text"),
        ("[1]", "line 2: not a JSON object"),
    ):
        with pytest.raises(InputError, match=message):
            imported(write_lines(tmp_path / "bad.jsonl", row, bad), out=tmp_path / "none", load_embedder=None)


def test_import_from_python_and_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from groundset import commands

    monkeypatch.setattr(embedder, "load_embedder", Encoder)
    source = write_tables(tmp_path / "foreign")
    run = groundset.import_files(source, out=tmp_path / "python", embedder="words", quiet=True)
    with pytest.raises(SystemExit) as leaving:
        commands.main(
            ["import", str(source / "qa.parquet"), str(source / "corpus.parquet"), "--out", str(tmp_path / "cli")]
        )
    assert leaving.value.code == 0
    assert "2 samples (imported 2) on 3 chunks of 2 documents" in capsys.readouterr().out
    assert [sample.id for sample in run] == [sample.id for sample in groundset.open_run(tmp_path / "cli")]
    bad = write_lines(tmp_path / "a.jsonl", {"question": "Q?", "contexts": ["a"]})
    with pytest.raises(groundset.InputError, match="such questions with unanswered"):
        groundset.import_files([bad], out=tmp_path / "none", quiet=True)


def test_configuration_of_an_imported_run(tmp_path: Path) -> None:
    imported(write_tables(tmp_path / "foreign"), out=tmp_path / "run")
    configuration = groundset.open_run(tmp_path / "run").record["configuration"]
    corpus = str(tmp_path / "foreign" / "corpus.parquet")
    known = {"documents": [], "chunks": corpus, "embedder": "words", "parser": "none", "max_rank": 0}
    assert {name: value for name, value in configuration.items() if value is not None} == known
    config = make_config({"out": None}, tmp_path / "run" / "run.json")
    assert (config.chunks, config.recipe, config.options.max_rank) == (Path(corpus), "evolved", 0)
    assert own_retriever(make_config(configuration)).chunker == "own chunks"
