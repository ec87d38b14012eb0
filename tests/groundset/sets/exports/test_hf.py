"""The datasets export: splits, types and rows."""

import datasets
import pytest

from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS
from groundset.sets.exports.hf import corpus_table, qa_table
from programs.errors import InputError

HF = [EXPORTS["hf"]]


def test_hf_round_trip(full_run, samples, chunks, tmp_path, capfd):
    write_set(full_run, HF, tmp_path)
    assert capfd.readouterr().err == "", "no bar is drawn"
    qa = datasets.load_from_disk(tmp_path / "qa")
    assert list(qa) == ["test"]
    second = qa["test"][1]
    assert (second["id"], second["retrieval_gt"]) == ("q-2", [["clock-0000"], ["ferry-0001"]])
    assert second["contexts"] == [chunk.text for chunk in samples[1].contexts]
    assert [place["path"] for place in second["provenance"]] == ["clock.md", "ferry.md"]
    corpus = datasets.load_from_disk(tmp_path / "corpus")["corpus"]
    assert corpus["chunk_id"] == [chunk.chunk_id for chunk in chunks]
    texts = {source.doc_id: source.text for source in full_run.documents}
    assert all(texts[row["doc_id"]][row["start"] : row["end"]] == row["text"] for row in corpus)


def test_hf_splits_default_to_test(full_run, samples, tmp_path):
    more = [samples[0].model_copy(update={"id": name, "split": split}) for name, split in (("a", "train"), ("b", None))]
    write_set(full_run.replace(samples=more), HF, tmp_path)
    qa = datasets.load_from_disk(tmp_path / "qa")
    assert {name: split["id"] for name, split in qa.items()} == {"train": ["a"], "test": ["b"]}


@pytest.mark.parametrize("split", ["../up", "a/b", "two words", "all", "a-b", "x\n"])
def test_hf_rejects_invalid_split_names(full_run, samples, tmp_path, split):
    wrong = full_run.replace(samples=[samples[0].model_copy(update={"split": split})])
    with pytest.raises(InputError, match=r"sample q-1: .* split name"):
        write_set(wrong, HF, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_hf_types_without_values(samples, chunks):
    retrieval = samples[0].retrieval.model_copy(update={"rank": None})
    bare = samples[0].model_copy(update={"retrieval": retrieval, "contexts": (), "retrieval_gt": ()})
    full = samples[0].model_copy(update={"metadata": {"kind": "time"}})
    assert qa_table([bare]).schema == qa_table([full]).schema == qa_table([]).schema
    assert qa_table([full]).schema.field("rank").type == "int64"
    assert qa_table([full])["kind"].to_pylist() == ["time"]
    assert corpus_table([]).schema == corpus_table(chunks).schema
