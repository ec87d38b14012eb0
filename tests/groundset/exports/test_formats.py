"""What each format writes: of unlike questions, the files in written/, which
`PYTHONPATH=tests:. python tests/groundset/exports/test_formats.py` writes anew: what a change of
them means to their tools is for a person to read.
"""

import csv
import json
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import datasets
import pyarrow.parquet as pq
import pytest
from evaluation_sets import cut, document, evaluation_set, run_of, sample, two_documents

from groundset.exports.formats import EXPORTS, TABLES
from groundset.programs.types import Retrieval
from groundset.rows import csv_rows
from groundset.run.record import sample_row

WRITTEN = Path(__file__).with_name("written")
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


def with_samples(*samples):
    return two_documents()._replace(samples=samples)


def changed(number=0, **changes):
    return two_documents().samples[number].model_copy(update=changes)


def unlike_questions():
    """Return a question that nothing answers, one that ends a conversation and needs two chunks,
    and one with an alternative, of which no search found any.
    """
    found, odd = two_documents(), document('ü "3"\t\u2028', 1)
    [chunk] = cut(odd)
    lost = Retrieval(rank=None, retrieved_id="ferry-0001", retrieved_content="x", score=0)
    samples = [
        changed(0, answer="The documents do not say.", retrieval_gt=(), retrieval=lost),
        changed(1, conversation=MESSAGES, metadata={"answer_variants": ["Fine.", 5]}),
        sample(
            'q-3 "\u2028"',
            chunk,
            retrieval=lost,
            retrieval_gt=((chunk.chunk_id, "ferry-0001"),),
            metadata={"kind": "time"},
        ),
    ]
    documents = [*found.documents.values(), odd]
    splits = dict.fromkeys((each.id for each in samples), "test") | {"q-2": "train"}
    return evaluation_set(run_of(samples, documents, [*found.chunks, chunk]), splits)


def test_autorag_metadata_are_texts(tmp_path):
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
    assert [row["metadata"]["b"] for row in corpus] == ["1", "one", None, None]
    assert [row["metadata"]["a"] for row in corpus] == ["{}", '{"c": 1}', None, None]
    assert [row["metadata"]["c"] for row in corpus] == ["1", None, None, None]
    assert corpus[1]["start_end_idx"] == [7, 9]


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


def test_hf_is_loaded_by_datasets(tmp_path, capfd):
    found = unlike_questions()
    out = written(found, "hf", tmp_path)
    assert capfd.readouterr().err == "", "no bar is drawn"
    qa = datasets.load_from_disk(out / "qa")
    [two] = qa["train"]
    one, three = qa["test"]
    assert [each["answerable"] for each in (one, two, three)] == [False, True, True]
    assert [each["conversation"] for each in (one, two, three)] == [None, MESSAGES, None]
    assert two["retrieval_gt"] == [["clock-0000"], ["ferry-0001"]]
    assert [place["path"] for place in two["provenance"]] == ["clock.md", "ferry.md"]
    corpus = datasets.load_from_disk(out / "corpus")["corpus"]
    texts = {source.doc_id: source.text for source in found.documents.values()}
    assert all(texts[row["doc_id"]][row["start"] : row["end"]] == row["text"] for row in corpus)


def test_hf_types_do_not_depend_on_values():
    bare = changed(contexts=(), retrieval_gt=(), probability=None)
    full = changed(kind="time", conversation=MESSAGES)
    schemas = [TABLES["qa"].tables(with_samples(each))["test"].schema for each in (bare, full)]
    assert schemas[0] == schemas[1]
    assert schemas[0].field("rank").type == "int64"


@pytest.mark.parametrize("value", ["x", [], [1], [{"role": "user"}], {"role": "user"}, 7, [None]])
def test_foreign_values_in_metadata_are_kept_and_ignored(value):
    facts = {"conversation": value, "answer_variants": value, "evidence": "fine", "kind": 7}
    [chunk] = cut(document("odd", 1))
    odd = sample("q", chunk, metadata=facts)
    assert (odd.conversation, odd.other_answers, odd.evidence, odd.kind) == (
        (),
        [],
        ("fine",),
        None,
    )
    assert sample_row(odd)["metadata"] == facts | {"evidence": ["fine"]}


def shown(file):
    """Return the content of a file, of a Parquet file its types and rows."""
    if file.suffix != ".parquet":
        return file.read_bytes()
    table = pq.read_table(file)
    types = {column.name: str(column.type) for column in table.schema}
    lines = [json.dumps(row, default=str) + "\n" for row in (types, *table.to_pylist())]
    return "".join(lines).encode()


def write_all(found, out):
    """Write every format but that of `datasets`, whose version decides on it; return the files."""
    folders = [written(found, name, out) for name in EXPORTS.keys() - {"hf"}]
    return {
        file.relative_to(out).as_posix().replace(".parquet", ".parquet.jsonl"): shown(file)
        for folder in folders
        for file in folder.rglob("*.*")
    }


def test_every_format_is_written_as_its_tool_reads_it(tmp_path):
    kept = {
        file.relative_to(WRITTEN).as_posix(): file.read_bytes() for file in WRITTEN.rglob("*.*")
    }
    made = write_all(unlike_questions(), tmp_path)
    assert made.keys() == kept.keys()
    for name, content in made.items():
        assert content.decode() == kept[name].decode(), name


def test_formats_do_not_depend_on_the_order_in_which_attempts_finished(tmp_path):
    found = unlike_questions()
    turned = [each[::-1] for each in (found.samples, [*found.documents.values()], found.chunks)]
    before = write_all(found, tmp_path / "before")
    after = write_all(evaluation_set(run_of(*turned), found.splits), tmp_path / "after")
    for name, content in before.items():
        assert sorted(content.splitlines()) == sorted(after[name].splitlines()), name


if __name__ == "__main__":
    with TemporaryDirectory() as out:
        for name, content in write_all(unlike_questions(), Path(out)).items():
            (WRITTEN / name).parent.mkdir(parents=True, exist_ok=True)
            (WRITTEN / name).write_bytes(content)
