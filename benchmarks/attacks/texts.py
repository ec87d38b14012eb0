"""Oversized texts: lines, questions, cells and files."""

import json
from pathlib import Path
from typing import Any

from attacks.target import Outcome, Target

_MEGABYTE = 1 << 20
_MAX_LENGTH = 1_000_000  # characters allowed in a text
_CAP_MIB = 1_800  # a command with its models, and a gigabyte for hostile input
_LIGHT_MIB = 500  # files are read before models are loaded
_PASSAGE = "The ferry leaves Brannock pier at seven each morning, and the second one at noon."
_QUESTION = "When does the first ferry leave Brannock pier?"


def import_of_a_line_of_53_megabytes(target: Target, folder: Path) -> str:
    """Import a file with one line of 53 MB."""
    row = {
        "question": _QUESTION,
        "answer": "at seven",
        "contexts": [_PASSAGE, "ferry pier noon. " * (53 * _MEGABYTE // 17)],
    }
    file = _rows(folder / "set.jsonl", row)
    return target.run("import", file, "--out", folder / "run", memory_mib=_LIGHT_MIB).fault(2, message="line 1")


def import_of_a_question_of_50_megabytes(target: Target, folder: Path) -> str:
    """Import a valid row and one with a question of 50 MB."""
    row = {"question": _QUESTION, "answer": "at seven", "passage": _PASSAGE}
    file = _rows(folder / "set.jsonl", row, {**row, "question": "Why is it? " * (50 * _MEGABYTE // 11)})
    return target.run("import", file, "--out", folder / "run", memory_mib=_LIGHT_MIB).fault(2, message="line 2")


def import_at_the_limit(target: Target, folder: Path) -> str:
    """Import rows whose question, answer and passage have the maximum length."""
    parts = [_QUESTION, "At noon it does.", _PASSAGE]
    long = [f"{part} " * (_MAX_LENGTH // (len(part) + 8)) for part in parts]
    rows = [
        {
            name: f"{number} {text}"[:_MAX_LENGTH]
            for name, text in zip(("question", "answer", "passage"), long, strict=True)
        }
        for number in range(4)
    ]
    file = _rows(folder / "set.jsonl", *rows)
    outcome = target.run("import", file, "--out", folder / "run", memory_mib=_CAP_MIB, seconds=120)
    return outcome.fault(0) or target.run("report", folder / "run", memory_mib=_CAP_MIB, seconds=120).fault(0)


def parquet_of_one_repeated_value(target: Target, folder: Path) -> str:
    """Import tables of some kilobytes: 1,000 rows repeat a huge text from a dictionary."""
    contents = ["ferry " * 1_000_000] * 1_000
    return _autorag(target, folder, {"doc_id": [f"c{number}" for number in range(1_000)], "contents": contents})


def parquet_of_many_small_repetitions(target: Target, folder: Path) -> str:
    """Import a table of some kilobytes whose 50 million rows repeat one sentence."""
    import numpy as np
    import pyarrow as pa

    count = 50_000_000
    text = pa.DictionaryArray.from_arrays(np.zeros(count, dtype=np.int32), pa.array([_PASSAGE]))
    columns = {"doc_id": np.arange(count), "contents": text}
    encoding = {"use_dictionary": ["contents"], "column_encoding": {"doc_id": "DELTA_BINARY_PACKED"}}
    return _autorag(target, folder, columns, **encoding)


def parquet_of_a_huge_list(target: Target, folder: Path) -> str:
    """Import a table of some kilobytes with a list of 100 million texts in one row."""
    import numpy as np
    import pyarrow as pa

    count = 100_000_000
    text = pa.DictionaryArray.from_arrays(np.zeros(count, dtype=np.int32), pa.array(["ferry"]))
    several = pa.ListArray.from_arrays(pa.array([0, count], type=pa.int32()), text)
    return _autorag(target, folder, {"doc_id": ["c1"], "contents": [_PASSAGE], "kept": several})


def parquet_of_common_prefixes(target: Target, folder: Path) -> str:
    """Import a table of some kilobytes with delta-encoded texts of a megabyte."""
    contents = ["ferry " * 160_000 + str(number) for number in range(1_000)]
    columns = {"doc_id": [f"c{number}" for number in range(1_000)], "contents": contents}
    return _autorag(target, folder, columns, use_dictionary=False, column_encoding={"contents": "DELTA_BYTE_ARRAY"})


def _autorag(target: Target, folder: Path, corpus: dict[str, Any], **options: Any) -> str:
    import pyarrow as pa
    from pyarrow import parquet

    questions = {"qid": ["q1"], "query": [_QUESTION], "retrieval_gt": [[["c1"]]], "generation_gt": [["at seven"]]}
    parquet.write_table(pa.table(questions), folder / "qa.parquet")
    parquet.write_table(pa.table(corpus), folder / "corpus.parquet", compression="zstd", **options)
    outcome = target.run("import", folder, "--format", "autorag", "--out", folder / "run", memory_mib=_CAP_MIB)
    return outcome.fault(2, message="corpus.parquet")


def user_chunks_of_one_huge_line(target: Target, folder: Path) -> str:
    """Generate from a file of chunks with one line of 53 MB."""
    file = _rows(folder / "own.jsonl", {"doc_id": "a", "contents": "ferry pier noon. " * (53 * _MEGABYTE // 17)})
    return target.run("generate", "--chunks", file, "--out", folder / "run", memory_mib=_CAP_MIB).fault(
        2, message="line 1"
    )


def generate_at_the_limit(target: Target, folder: Path) -> str:
    """Generate from chunks of the maximum length: sentences, one word, brackets, spaces."""
    texts = [
        " ".join(
            f"Captain Arne Holt of the ferry Brannock sailed to Pier {n} in {n % 300 + 1700}." for n in range(20_000)
        ),
        "a" * 2 * _MAX_LENGTH,
        "(" * 2 * _MAX_LENGTH,
        "[](" * _MAX_LENGTH,
        "x" + " " * 2 * _MAX_LENGTH + "x",
        "A. " * _MAX_LENGTH,
        "Henn and " * _MAX_LENGTH,
    ]
    rows = [{"doc_id": f"c{number}", "contents": text[:_MAX_LENGTH]} for number, text in enumerate(texts)]
    file = _rows(folder / "own.jsonl", *rows)
    options = ("--out", folder / "run", "--lm", "smollm2-135m", "--size", "1", "--min-length", "0")
    return target.run("generate", "--chunks", file, *options, memory_mib=2_500, seconds=240).fault((0, 3))


def judge_of_a_question_of_4_megabytes(target: Target, folder: Path) -> str:
    """Judge a question of 4 MB."""
    file = _rows(folder / "rows.jsonl", {"question": "Why is it? " * (4 * _MEGABYTE // 11), "passage": _PASSAGE})
    return _judge(target, folder, "questions", file).fault(2, message="line 1")


def judge_at_the_limit(target: Target, folder: Path) -> str:
    """Judge questions and passages of the maximum length that are slow for regular expressions."""
    pieces = [
        "Why is it? ",
        "A. ",
        "a",
        "(",
        "[](",
        "[a](b",
        "1,",
        "what is the ",
        "A-",
        "did she ",
        "- ",
        "\n\n",
        "x:",
    ]
    rows = [{"question": _long(piece), "passage": _long(piece)} for piece in pieces]
    return _judge(target, folder, "questions", _rows(folder / "rows.jsonl", *rows), seconds=240).fault(0)


def judge_of_an_endless_device(target: Target, folder: Path) -> str:
    """Judge the rows of an endless device."""
    return _judge(target, folder, "chunks", Path("/dev/zero")).fault(2, message="/dev/zero")


def labels_of_one_huge_line(target: Target, folder: Path) -> str:
    """Check a file of labels with one line of 200 MB."""
    file = folder / "labels.jsonl"
    with file.open("wb") as stream:
        stream.truncate(200 * _MEGABYTE)
    return target.run("labels", "check", file, memory_mib=_LIGHT_MIB).fault((1, 2), message="line 1")


def labels_of_an_endless_device(target: Target, folder: Path) -> str:
    """Count the labels in an endless device."""
    return target.run("labels", "stats", "/dev/zero", cwd=folder, memory_mib=_LIGHT_MIB).fault(2, message="/dev/zero")


def judgements_of_one_huge_line(target: Target, folder: Path) -> str:
    """Import a BEIR folder with judgements of 500 MB without a line end."""
    _rows(folder / "set" / "corpus.jsonl", {"_id": "c1", "title": "", "text": _PASSAGE})
    _rows(folder / "set" / "queries.jsonl", {"_id": "q1", "text": _QUESTION})
    (folder / "set" / "qrels").mkdir()
    table = folder / "set" / "qrels" / "test.tsv"
    with table.open("wb") as stream:
        stream.truncate(500 * _MEGABYTE)
    outcome = target.run("import", folder / "set", "--out", folder / "run", "--unanswered", memory_mib=_LIGHT_MIB)
    return outcome.fault(2, message="test.tsv")


def configuration_of_one_huge_text(target: Target, folder: Path) -> str:
    """Read options from a file of 100 MB."""
    file = folder / "run.toml"
    file.write_text(f'documents = ["{"x" * 100 * _MEGABYTE}"]\n', encoding="utf-8")
    return target.run("generate", "--config", file, "--out", folder / "run", memory_mib=_LIGHT_MIB).fault(2, "run.toml")


def configuration_of_an_endless_device(target: Target, folder: Path) -> str:
    """Read options from an endless device."""
    options = ("--config", "/dev/zero", "--out", folder / "run")
    return target.run("generate", *options, memory_mib=_LIGHT_MIB).fault(2, message="/dev/zero")


def expensive_conditions(target: Target, folder: Path) -> str:
    """Drop samples by conditions with huge powers, numbers and depth."""
    file = _rows(folder / "set.jsonl", {"question": _QUESTION, "answer": "at seven", "passage": _PASSAGE})
    if fault := target.run("import", file, "--out", folder / "run", counts=False).fault(0):
        return fault
    conditions = [
        "9**9**9 > rank",
        "9" * 4_000 + " > rank",
        "(" * 1_000 + "rank" + ")" * 1_000 + " > 1",
        "not " * 20_000 + "rank > 1",
        "'a' * 999999999 == id",
    ]
    for condition in conditions:
        outcome = target.run(
            "drop", folder / "run", "--where", condition, "--out", folder / "less", memory_mib=_CAP_MIB
        )
        if fault := outcome.fault(2):
            return f"{condition[:30]}: {fault}"
    return ""


def _long(piece: str) -> str:
    return f"x {piece * (_MAX_LENGTH // len(piece))}"[:_MAX_LENGTH]


def _judge(target: Target, folder: Path, kind: str, file: Path, seconds: float = 60) -> Outcome:
    return target.run("judge", kind, file, "--out", folder / "out.jsonl", memory_mib=_CAP_MIB, seconds=seconds)


def _rows(file: Path, *rows: dict[str, Any]) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


ATTACKS = (
    import_of_a_line_of_53_megabytes,
    import_of_a_question_of_50_megabytes,
    import_at_the_limit,
    parquet_of_one_repeated_value,
    parquet_of_many_small_repetitions,
    parquet_of_a_huge_list,
    parquet_of_common_prefixes,
    user_chunks_of_one_huge_line,
    generate_at_the_limit,
    judge_of_a_question_of_4_megabytes,
    judge_at_the_limit,
    judge_of_an_endless_device,
    labels_of_one_huge_line,
    labels_of_an_endless_device,
    judgements_of_one_huge_line,
    configuration_of_one_huge_text,
    configuration_of_an_endless_device,
    expensive_conditions,
)
