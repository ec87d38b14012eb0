"""What each format writes."""

import csv
import json
import os
import subprocess
import sys
from datetime import datetime
from itertools import chain
from pathlib import Path

import datasets
import pandas as pd
import pyarrow.parquet as pq
import pytest
from evaluation_sets import evaluation_set, many_documents, run_of, two_documents

from groundset.exports.formats import EXPORTS, TABLES
from groundset.programs.types import Retrieval, Sample
from groundset.rows import csv_rows

ROOT = Path(__file__).parents[3]
MESSAGES = [
    {"role": "user", "content": "Where is the clock?"},
    {"role": "assistant", "content": "in Brenn"},
    {"role": "user", "content": "When was it cast?"},
]
FORMULAS = [
    '=HYPERLINK("http://evil.example","x")',
    "+1",
    "-2 degrees",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "＝1",
    "'=1",
    "''",
    "'s-Hertogenbosch",
    "\0=1",
    'a,"b"\r\nc;=1',
    "\u2028=1",
    "\u200b=1",
    "\ufeff=1",
    " \u200b\u00a0@x",
    "plain",
    "é" * 40_000,
    "a;=1",
    "a; \ufeff@x;'b",
    "- one\n- two\r\n+ three\r\r\n=4",
    'a;"=1"',
    ";;'=1;''",
    "a\t=1",
]


def written(found, name, out):
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    EXPORTS[name].write_to(folder, found)
    return folder


def rows(file):
    text = file.read_text("utf-8")
    return (
        [json.loads(line) for line in text.split("\n")[:-1]]
        if file.suffix == ".jsonl"
        else json.loads(text)
    )


def with_samples(*samples):
    return two_documents()._replace(samples=samples)


def changed(number=0, **changes):
    return two_documents().samples[number].model_copy(update=changes)


def odd_set():
    """Return a set whose first question is unanswerable, and whose second ends a conversation."""
    nothing = Retrieval(rank=None, retrieved_id="ferry-0001", retrieved_content="", score=0)
    open_question = changed(
        0, answer="The documents do not say.", retrieval_gt=(), retrieval=nothing
    )
    return with_samples(
        open_question,
        changed(1, metadata={"conversation": MESSAGES, "answer_variants": ["Fine.", 5]}),
    )


def test_autorag_has_the_columns_and_types_that_its_loader_demands(tmp_path):
    found = two_documents()
    out = written(found, "autorag", tmp_path)
    qa, corpus = (pd.read_parquet(out / f"{table}.parquet") for table in ("qa", "corpus"))
    assert list(qa.columns) == ["qid", "query", "retrieval_gt", "generation_gt"]
    assert list(corpus.columns) == ["doc_id", "contents", "path", "start_end_idx", "metadata"]
    assert [[list(group) for group in groups] for groups in qa["retrieval_gt"]] == [
        [["ferry-0002"]],
        [["clock-0000"], ["ferry-0001"]],
    ]
    assert [list(answers) for answers in qa["generation_gt"]] == [["That it is “fine”."]] * 2
    texts = {source.path: source.text for source in found.documents.values()}
    for row in corpus.itertuples():
        start, end = (int(place) for place in row.start_end_idx)
        assert texts[row.path][start:end] == row.contents
        assert isinstance(row.metadata["last_modified_datetime"], datetime)
    metadata = dict(zip(corpus["doc_id"], corpus["metadata"], strict=True))
    assert {name: (row["prev_id"], row["next_id"]) for name, row in metadata.items()} == {
        "ferry-0000": (None, "ferry-0001"),
        "ferry-0001": ("ferry-0000", "ferry-0002"),
        "ferry-0002": ("ferry-0001", None),
        "clock-0000": (None, None),
    }
    assert metadata["ferry-0000"]["last_modified_datetime"] == datetime(2025, 7, 1, 10), "naive UTC"
    assert metadata["clock-0000"]["last_modified_datetime"] == datetime(2026, 3, 4, 5, 6, 7), (
        "the start of the run"
    )


def test_autorag_metadata_without_a_common_type_is_json(tmp_path):
    found = two_documents()
    odd = (
        {"a": {}, "b": 1, "c": 1},
        {"a": {"c": 1}, "b": "one", "start_end_idx": [7, 9]},
        {"c": None},
        {},
    )
    chunks = [
        chunk.model_copy(update={"metadata": more})
        for chunk, more in zip(found.chunks, odd, strict=True)
    ]
    corpus = pq.read_table(
        written(found._replace(chunks=chunks), "autorag", tmp_path) / "corpus.parquet"
    ).to_pylist()
    assert [row["metadata"]["b"] for row in corpus] == ["1", '"one"', None, None]
    assert [row["metadata"]["a"] for row in corpus] == [{"c": None}, {"c": 1}, None, None]
    assert [row["metadata"]["c"] for row in corpus] == [1, None, None, None]
    assert corpus[1]["start_end_idx"] == [7, 9]


def test_beir_is_what_its_loader_reads(tmp_path):
    names = ['a "b"', "a\tb", "a\u2028b", "ü #1"]
    found = two_documents()
    odd = [
        found.chunks[0].model_copy(update={"chunk_id": name, "text": f"{name}\r\n\0x"})
        for name in names
    ]
    asked = [changed(id=name, retrieval_gt=((name,), ("clock-0000",))) for name in names]
    splits = {name: "train" if name == names[0] else "test" for name in names}
    whole = found._replace(samples=asked, chunks=[*found.chunks, *odd], splits=splits)
    out = written(whole, "beir", tmp_path)
    corpus = {row["_id"]: (row["title"], row["text"]) for row in rows(out / "corpus.jsonl")}
    assert corpus == {chunk.chunk_id: (chunk.title, chunk.text) for chunk in whole.chunks}
    assert {row["_id"]: row["text"] for row in rows(out / "queries.jsonl")} == dict.fromkeys(
        names, asked[0].question
    )
    assert rows(out / "queries.jsonl")[0]["metadata"]["retrieval_gt"] == [
        [names[0]],
        ["clock-0000"],
    ]
    judged = {}
    for split in ("train", "test"):
        with (out / "qrels" / f"{split}.tsv").open(encoding="utf-8") as stream:
            head, *judged[split] = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_MINIMAL)
        assert head == ["query-id", "corpus-id", "score"]
    assert judged["train"] == [[names[0], names[0], "1"], [names[0], "clock-0000", "1"]]
    assert [row[0] for row in judged["test"][::2]] == names[1:]


def read_csv(file):
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def test_csv_tables(tmp_path):
    lost = Retrieval(rank=None, retrieved_id="x", retrieved_content="x", score=0)
    found = with_samples(changed(retrieval=lost, metadata={"kind": "time"}), changed(1))
    out = written(found, "csv", tmp_path)
    first, second = read_csv(out / "questions.csv")
    assert first["question"] == found.samples[0].question
    assert first["answer"] == "That it is “fine”."
    assert first["rank"] == ""
    assert first["probability"] == "0.9"
    assert first["split"] == ""
    assert first["kind"] == "time"
    assert json.loads(second["retrieval_gt"]) == [["clock-0000"], ["ferry-0001"]]
    assert json.loads(second["contexts"]) == [chunk.text for chunk in found.samples[1].contexts]
    assert [
        (row["chunk_id"], row["text"], int(row["start"])) for row in read_csv(out / "corpus.csv")
    ] == [(chunk.chunk_id, chunk.text, chunk.start) for chunk in found.chunks]
    for name, count in (("questions.csv", 2), ("corpus.csv", 4)):
        raw = (out / name).read_bytes()
        assert raw.startswith(b"\xef\xbb\xbf"), "UTF-8 that Excel knows"
        assert raw.count(b"\r\n") == count + 1
        assert raw.count(b"\n") == count + 1, "the line ends of RFC 4180"


UNSEEN = " \u200b\ufeff\u00a0\u2028\r\n\0"


def test_csv_cells_are_no_formulas_however_they_are_read_and_are_restored(tmp_path):
    asked = [
        changed(id=f"={place}", question=f"{text} ?", answer=text)
        for place, text in enumerate(FORMULAS)
    ]
    file = written(with_samples(*asked), "csv", tmp_path) / "questions.csv"
    assert [(row["id"], row["answer"]) for _, row in csv_rows(file)] == [
        (each.id, each.answer) for each in asked
    ]
    for delimiter in ",;\t":
        with file.open(encoding="utf-8-sig", newline="") as stream:
            for cell in chain(*csv.reader(stream, delimiter=delimiter)):
                assert cell[:1] not in set("\t\r\n\0") or delimiter != ","
                assert cell.lstrip(UNSEEN + "\t")[:1] not in set("=+-@＝＋－＠"), (delimiter, cell)


def test_jsonl_is_complete(tmp_path):
    found = two_documents()._replace(splits={"q-1": "train", "q-2": "test"})
    out = written(found, "jsonl", tmp_path)
    made = rows(out / "samples.jsonl")
    assert [row.pop("split") for row in made] == ["train", "test"]
    assert tuple(map(Sample.model_validate, made)) == tuple(found.samples)
    assert [row["chunk_id"] for row in rows(out / "corpus.jsonl")] == [
        chunk.chunk_id for chunk in found.chunks
    ]


def test_hf_is_loaded_by_datasets(tmp_path, capfd):
    found = two_documents()
    out = written(found._replace(splits={"q-1": "train", "q-2": "test"}), "hf", tmp_path)
    assert capfd.readouterr().err == "", "no bar is drawn"
    qa = datasets.load_from_disk(out / "qa")
    assert {name: split["id"][:] for name, split in qa.items()} == {
        "train": ["q-1"],
        "test": ["q-2"],
    }
    second = qa["test"][0]
    assert second["retrieval_gt"] == [["clock-0000"], ["ferry-0001"]]
    assert [place["path"] for place in second["provenance"]] == ["clock.md", "ferry.md"]
    corpus = datasets.load_from_disk(out / "corpus")["corpus"]
    texts = {source.doc_id: source.text for source in found.documents.values()}
    assert all(texts[row["doc_id"]][row["start"] : row["end"]] == row["text"] for row in corpus)


def test_hf_types_do_not_depend_on_values():
    bare = changed(contexts=(), retrieval_gt=(), probability=None)
    full = changed(metadata={"kind": "time", "conversation": MESSAGES})
    schemas = [TABLES["qa"].tables(with_samples(each))["test"].schema for each in (bare, full)]
    assert schemas[0] == schemas[1]
    assert schemas[0].field("rank").type == "int64"


def test_ragas_rows(tmp_path):
    folder, texts = (
        written(two_documents(), "ragas", tmp_path),
        [each.text for each in two_documents().chunks],
    )
    one, two = rows(folder / "testset.jsonl")
    assert two == {
        "user_input": "What does Clock say?",
        "reference": "That it is “fine”.",
        "reference_contexts": [texts[1], texts[3]],
        "reference_context_ids": ["clock-0000", "ferry-0001"],
        "synthesizer_name": "multi_hop_specific_query_synthesizer",
    }
    assert one["synthesizer_name"] == "single_hop_specific_query_synthesizer"
    old = rows(folder / "testset-0.1.jsonl")[1]
    place = {
        "filename": "clock.md",
        "title": "Clock",
        "document_id": "clock",
        "chunk_id": "clock-0000",
    }
    assert old.pop("metadata")[0] == place
    assert old == {
        "question": "What does Clock say?",
        "contexts": [texts[1], texts[3]],
        "ground_truth": "That it is “fine”.",
        "evolution_type": "simple",
        "episode_done": True,
    }
    either = changed(retrieval_gt=(("ferry-0002", "ferry-0001"),))
    [row] = rows(written(with_samples(either), "ragas", tmp_path / "either") / "testset.jsonl")
    assert row["synthesizer_name"] == "single_hop_specific_query_synthesizer", (
        "an alternative is no second hop"
    )


def test_deepeval_golden(tmp_path):
    found = two_documents()._replace(splits={"q-1": "train", "q-2": "test"})
    about = {
        "evolution": "simple",
        "kind": None,
        "language": "en",
        "split": "test",
        "paths": ["clock.md", "ferry.md"],
        "chunk_ids": ["clock-0000", "ferry-0001"],
        "retrieval_gt": [["clock-0000"], ["ferry-0001"]],
        "answerable": True,
        "rank": 1,
        "probability": 0.9,
    }
    assert rows(written(found, "deepeval", tmp_path) / "goldens.json")[1] == {
        "name": "q-2",
        "input": "What does Clock say?",
        "expected_output": "That it is “fine”.",
        "context": [found.chunks[1].text, found.chunks[3].text],
        "source_file": "clock.md",
        "additional_metadata": about,
    }


def test_adk_is_what_the_published_transformer_makes_of_the_benchmark(tmp_path):
    profile = {"Type": "How-to", "Persona": "The Expert"}
    found = with_samples(changed(metadata={"profile": profile}), changed(1))
    benchmark = rows(written(found, "autorageval", tmp_path) / "benchmark.json")
    assert [list(row) for row in benchmark] == [
        ["context", "Q&A Gen Profile", "Question", "Answer"]
    ] * 2
    assert [row["Q&A Gen Profile"] for row in benchmark] == [profile, {"evolution": "simple"}]
    transformed = [
        {"query": row["Question"], "expected_tool_use": [], "reference": row["Answer"]}
        for row in benchmark
    ]
    text = (written(found, "adk", tmp_path) / "evaluation.json").read_text("ascii")
    assert text == json.dumps(transformed, indent=2) + "\n"


def test_unanswerable_questions_are_as_their_tools_expect_them(tmp_path):
    found = odd_set()
    qa = pq.read_table(written(found, "autorag", tmp_path) / "qa.parquet").to_pylist()
    assert [row["retrieval_gt"] for row in qa] == [[[]], [["clock-0000"], ["ferry-0001"]]]
    assert qa[0]["chunk_ids"] == ["ferry-0002"]
    beir = written(found, "beir", tmp_path)
    assert "q-1" not in (beir / "qrels" / "test.tsv").read_text()
    metadata = rows(beir / "queries.jsonl")[0]["metadata"]
    assert metadata["answerable"] is False
    assert metadata["chunk_ids"] == ["ferry-0002"]
    table = TABLES["qa"].tables(found)["test"].to_pylist()
    assert [(row["answerable"], len(row["contexts"])) for row in table] == [(False, 1), (True, 2)]
    assert rows(written(found, "deepeval", tmp_path) / "goldens.json")[0]["context"] == []
    ragas = written(found, "ragas", tmp_path)
    assert rows(ragas / "testset.jsonl")[0]["reference_contexts"] == []
    assert rows(ragas / "testset-0.1.jsonl")[0]["contexts"] == []


def test_conversations_and_other_answers_have_their_places(tmp_path):
    found = odd_set()
    assert [row["conversation"] for row in TABLES["qa"].tables(found)["test"].to_pylist()] == [
        None,
        MESSAGES,
    ]
    [golden] = rows(written(found, "deepeval", tmp_path) / "conversations.json")
    told = found.samples[1].question, found.samples[1].answer, MESSAGES
    assert (golden["scenario"], golden["expected_outcome"], golden["turns"]) == told
    assert golden["additional_metadata"]["answer_variants"] == ["Fine."]
    [row] = rows(written(found, "ragas", tmp_path) / "conversations.jsonl")
    assert [message["type"] for message in row["user_input"]] == ["human", "ai", "human"]
    qa = pd.read_parquet(written(found, "autorag", tmp_path) / "qa.parquet")
    assert list(qa["generation_gt"][1]) == [found.samples[1].answer, "Fine."]
    assert rows(written(found, "beir", tmp_path) / "queries.jsonl")[1]["metadata"]["answers"] == [
        "Fine."
    ]


def test_services_get_what_is_asked_what_is_expected_and_what_else_is_known(tmp_path):
    found = odd_set()._replace(splits={"q-1": "train", "q-2": "test"})
    sample, known = found.samples[1], rows(written(found, "deepeval", tmp_path) / "goldens.json")[1]
    question, answer, texts = (
        sample.question,
        sample.answer,
        [chunk.text for chunk in sample.contexts],
    )
    asked, expected = (
        {"question": question, "conversation": MESSAGES},
        {"answer": answer, "contexts": texts},
    )
    about, more = {"metadata": known["additional_metadata"]}, {"conversation": MESSAGES}
    prompt, response = ({"content": [{"text": text}]} for text in (question, answer))
    values = {"question": question, "answer": answer, "context": "\n\n".join(texts)}
    for name, row in {
        "bedrock": {"conversationTurns": [{"prompt": prompt, "referenceResponses": [response]}]},
        "inspect": {"id": "q-2", "input": question, "target": answer}
        | {"metadata": {**about["metadata"], **more, "contexts": texts}},
        "langfuse": {"id": "q-2", "input": asked, "expected_output": expected, **about},
        "langsmith": {
            "inputs": asked,
            "outputs": expected,
            "metadata": {"id": "q-2", **about["metadata"]},
        }
        | {"split": "test"},
        "opik": {
            "sample_id": "q-2",
            "input": question,
            "expected_output": answer,
            "reference_contexts": texts,
        }
        | {**more, **about},
        "phoenix": {"id": "q-2", "input": asked, "output": expected, **about, "splits": "test"},
        "promptfoo": {"description": "q-2", "vars": values, **about},
    }.items():
        [file] = written(found, name, tmp_path).glob("*.jsonl")
        assert rows(file)[1] == row
    table = read_csv(tmp_path / "langfuse" / "items.csv")[1]
    assert list(table)[:3] == ["input", "expected_output", "metadata"], (
        "where its page expects them"
    )
    assert [json.loads(cell) for cell in list(table.values())[:3]] == [
        asked,
        expected,
        about["metadata"],
    ]


@pytest.mark.parametrize("value", ["x", [], [1], [{"role": "user"}], {"role": "user"}, 7, [None]])
def test_foreign_values_in_metadata_are_ignored(value):
    odd = changed(metadata={"conversation": value, "answer_variants": value})
    assert odd.conversation is None
    assert odd.other_answers == []


@pytest.fixture
def every_format(tmp_path: Path) -> Path:
    """Return a folder with a folder for each format."""
    for name in EXPORTS:
        written(many_documents(), name, tmp_path / "all")
    return tmp_path / "all"


WRITE = """import sys
from pathlib import Path
sys.path += sys.argv[2:]
from evaluation_sets import many_documents
from groundset.exports.formats import EXPORTS
for name in EXPORTS:
    folder = Path(sys.argv[1], name)
    folder.mkdir(parents=True)
    EXPORTS[name].write_to(folder, many_documents())
"""


def test_every_format_repeats_itself(every_format, tmp_path):
    for name, row in EXPORTS.items():
        assert (every_format / name / next(iter(row.files))).exists()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-c", WRITE, str(tmp_path / "again"), str(ROOT / "tests")]
    subprocess.run(command, check=True, env=environment, timeout=120)
    for file in (tmp_path / "again").rglob("*.*"):
        place = file.relative_to(tmp_path / "again")
        assert file.read_bytes() == (every_format / place).read_bytes(), place


def test_formats_do_not_depend_on_the_order_in_which_attempts_finished(every_format, tmp_path):
    whole = many_documents()
    turned = [each[::-1] for each in (whole.samples, [*whole.documents.values()], whole.chunks)]
    found = evaluation_set(run_of(*turned))
    for name in EXPORTS.keys() - {"hf"}:
        for file in written(found, name, tmp_path / "turned").rglob("*.*"):
            before = every_format / file.relative_to(tmp_path / "turned")
            assert in_any_order(file) == in_any_order(before), before


def in_any_order(file):
    table = pq.read_table(file).to_pylist() if file.suffix == ".parquet" else None
    return sorted(
        map(
            str,
            table
            or (rows(file) if file.suffix == ".json" else file.read_text("utf-8").split("\n")),
        )
    )
