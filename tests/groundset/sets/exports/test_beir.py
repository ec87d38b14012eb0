"""The BEIR export, read like BEIR's loader."""

import csv
import json

import pytest

from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS
from programs.errors import InputError


def load(out, split="test"):
    """Return corpus, queries and judgements of a split, as ``GenericDataLoader(out).load(split)`` does."""
    corpus = {row["_id"]: (row["title"], row["text"]) for row in lines(out / "corpus.jsonl")}
    queries = {row["_id"]: row["text"] for row in lines(out / "queries.jsonl")}
    judged = {}
    with (out / "qrels" / f"{split}.tsv").open(encoding="utf-8") as stream:
        reader = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_MINIMAL)
        assert next(reader) == ["query-id", "corpus-id", "score"]
        for query, chunk, score in reader:
            judged.setdefault(query, {})[chunk] = int(score)
    return corpus, {name: queries[name] for name in judged}, judged


def lines(file):
    with file.open(encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def test_beir_round_trip(full_run, samples, chunks, tmp_path):
    groups = (("clock-0000", "ferry-0002"), ("ferry-0001", "clock-0000"))
    asked = [samples[0], samples[1].model_copy(update={"retrieval_gt": groups})]
    write_set(full_run.replace(samples=asked), [EXPORTS["beir"]], tmp_path / "out")
    corpus, queries, judged = load(tmp_path / "out")
    assert corpus == {chunk.chunk_id: (chunk.title, chunk.text) for chunk in chunks}
    assert queries == {sample.id: sample.question for sample in asked}
    assert judged == {"q-1": {"ferry-0002": 1}, "q-2": {"clock-0000": 1, "ferry-0002": 1, "ferry-0001": 1}}
    metadata = [row["metadata"] for row in lines(tmp_path / "out" / "queries.jsonl")]
    assert [row["answer"] for row in metadata] == [sample.answer for sample in asked]
    assert metadata[1]["retrieval_gt"] == [list(group) for group in groups]


def test_beir_has_judgements_per_split(full_run, samples, tmp_path):
    asked = [samples[0].model_copy(update={"split": "train"}), samples[1]]
    write_set(full_run.replace(samples=asked), [EXPORTS["beir"]], tmp_path / "out")
    assert sorted(file.name for file in (tmp_path / "out" / "qrels").iterdir()) == ["test.tsv", "train.tsv"]
    assert list(load(tmp_path / "out", "train")[1]) == ["q-1"]
    assert list(load(tmp_path / "out", "test")[1]) == ["q-2"]


def test_beir_keeps_unusual_ids_and_texts(full_run, chunks, samples, tmp_path):
    names = ['a "b"', "a\tb", "a\u2028b", "ü #1"]
    odd = [chunks[0].model_copy(update={"chunk_id": name, "text": f"{name}\r\n\0x"}) for name in names]
    asked = [samples[0].model_copy(update={"id": name, "retrieval_gt": ((name,),)}) for name in names]
    write_set(full_run.replace(samples=asked, chunks=[*chunks, *odd]), [EXPORTS["beir"]], tmp_path / "out")
    corpus, _, judged = load(tmp_path / "out")
    assert judged == {name: {name: 1} for name in names}
    assert [corpus[name][1] for name in names] == [chunk.text for chunk in odd]


@pytest.mark.parametrize("split", ["../up", "a/b", "", " ", ".hidden", "x" * 101, "train\n"])
def test_beir_rejects_invalid_split_names(full_run, samples, tmp_path, split):
    asked = [samples[0].model_copy(update={"split": split})]
    if not split:
        write_set(full_run.replace(samples=asked), [EXPORTS["beir"]], tmp_path / "out")
        return
    with pytest.raises(InputError, match=r"^split .* file name"):
        write_set(full_run.replace(samples=asked), [EXPORTS["beir"]], tmp_path / "out")
    assert not (tmp_path / "out").exists()
