"""What `datasets` reads of it: the splits, the types of the columns, and the same rows that the run holds."""

import subprocess
import sys

import datasets
import pytest

from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS
from groundset.sets.exports.hf import corpus_table, qa_table
from programs.errors import InputError

HF = [EXPORTS["hf"]]


def test_the_rows_of_a_set_are_read_back(content, samples, chunks, tmp_path, capfd):
    write_set(content, HF, tmp_path)
    assert capfd.readouterr().err == "", "no bar is drawn"
    qa = datasets.load_from_disk(tmp_path / "qa")
    assert list(qa) == ["test"]
    second = qa["test"][1]
    assert (second["id"], second["retrieval_gt"]) == ("q-2", [["clock-0000"], ["ferry-0001"]])
    assert second["contexts"] == [chunk.text for chunk in samples[1].contexts]
    assert [place["path"] for place in second["provenance"]] == ["clock.md", "ferry.md"]
    corpus = datasets.load_from_disk(tmp_path / "corpus")["corpus"]
    assert corpus["chunk_id"] == [chunk.chunk_id for chunk in chunks]
    texts = {source.doc_id: source.text for source in content.documents}
    assert all(texts[row["doc_id"]][row["start"] : row["end"]] == row["text"] for row in corpus)


def test_each_split_is_one_and_what_has_none_is_in_test(content, samples, tmp_path):
    more = [samples[0].model_copy(update={"id": name, "split": split}) for name, split in (("a", "train"), ("b", None))]
    write_set(content.replace(samples=more), HF, tmp_path)
    qa = datasets.load_from_disk(tmp_path / "qa")
    assert {name: split["id"] for name, split in qa.items()} == {"train": ["a"], "test": ["b"]}


@pytest.mark.parametrize("split", ["../up", "a/b", "two words", "all", "a-b", "x\n"])
def test_a_split_that_cannot_be_one_is_refused(content, samples, tmp_path, split):
    wrong = content.replace(samples=[samples[0].model_copy(update={"split": split})])
    with pytest.raises(InputError, match=r"sample q-1 is in the split .* does not take"):
        write_set(wrong, HF, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_types_do_not_depend_on_what_is_missing(samples, chunks):
    retrieval = samples[0].retrieval.model_copy(update={"rank": None})
    bare = samples[0].model_copy(update={"retrieval": retrieval, "contexts": (), "retrieval_gt": ()})
    full = samples[0].model_copy(update={"metadata": {"kind": "time"}})
    assert qa_table([bare]).schema == qa_table([full]).schema == qa_table([]).schema
    assert qa_table([full]).schema.field("rank").type == "int64"
    assert qa_table([full])["kind"].to_pylist() == ["time"]
    assert corpus_table([]).schema == corpus_table(chunks).schema


def test_the_table_of_formats_needs_no_datasets():
    script = "import sys; from groundset.sets.exports import EXPORTS; print('hf' in EXPORTS, 'datasets' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "True False\n"
