"""The triplets export."""

import json

import pytest
from evaluation_sets import evaluation_set

from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS
from programs.errors import InputError

TRIPLETS = [EXPORTS["triplets"]]
COLUMNS = ["anchor", "positive", *(f"negative_{number}" for number in range(1, 6))]


def exported(full_run, out):
    write_set(full_run, TRIPLETS, out)
    return {
        file.stem: [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]]
        for file in sorted(out.iterdir())
    }


def test_triplet_columns(tmp_path):
    full_run = evaluation_set()
    rows = exported(full_run, tmp_path / "out")
    assert {name: len(found) for name, found in rows.items()} == {"dev": 1, "test": 1, "train": 10}
    texts = {chunk.text for chunk in full_run.chunks}
    positives = {each.question: each.contexts[0].text for each in full_run.samples}
    for row in (row for found in rows.values() for row in found):
        assert list(row) == COLUMNS
        assert row["positive"] == positives[row["anchor"]]
        assert len({*row.values()}) == len(COLUMNS)
        assert {*row.values()} - {row["anchor"]} <= texts


def test_triplet_splits_share_no_documents(tmp_path):
    full_run = evaluation_set()
    rows = exported(full_run, tmp_path / "out")
    of = {chunk.text: chunk.doc_id for chunk in full_run.chunks}
    seen = {name: {of[text] for row in found for text in list(row.values())[1:]} for name, found in rows.items()}
    assert not seen["train"] & seen["dev"] | seen["train"] & seen["test"] | seen["dev"] & seen["test"]
    assert len(seen["train"]) > 1


def test_triplets_have_a_row_per_needed_chunk(tmp_path):
    full_run = evaluation_set()
    both = (full_run.chunks[1], full_run.chunks[25])
    asked = [
        full_run.samples[0].model_copy(update={"contexts": both, "retrieval_gt": tuple((c.chunk_id,) for c in both)})
    ]
    fewer = full_run.only([0, *range(3, len(full_run))])
    rows = exported(fewer.replace(samples=[*asked, *full_run.samples[3:]]), tmp_path / "out")
    found = [row for each in rows.values() for row in each if row["anchor"] == asked[0].question]
    assert [row["positive"] for row in found] == [chunk.text for chunk in both]
    assert not {chunk.text for chunk in both} & {text for row in found for text in list(row.values())[2:]}


def test_triplets_have_equal_numbers_of_negatives(tmp_path):
    rows = exported(evaluation_set(documents=1, chunks=4), tmp_path / "small")
    assert [list(row) for row in rows["train"]] == [COLUMNS[:5]], "three are all there are"
    assert exported(evaluation_set(documents=1, chunks=2), tmp_path / "two")["train"][0].keys() == {*COLUMNS[:3]}
    full_run = evaluation_set(documents=21)
    lost = full_run.samples[0].model_copy(update={"answer": "says that"})  # in every chunk
    rows = exported(full_run.replace(samples=[lost, *full_run.samples[1:]]), tmp_path / "most")
    assert sum(map(len, rows.values())) == 20
    assert {tuple(row) for found in rows.values() for row in found} == {tuple(COLUMNS)}


def test_triplets_keep_supported_splits(tmp_path):
    full_run = evaluation_set()
    own = [each.model_copy(update={"split": "validation" if n else "test"}) for n, each in enumerate(full_run.samples)]
    rows = exported(full_run.replace(samples=own), tmp_path / "out")
    assert {name: len(found) for name, found in rows.items()} == {"test": 1, "validation": 11}
    strange = [each.model_copy(update={"split": "held-out"}) for each in own]
    with pytest.raises(InputError, match=r"--format triplets: .*'held-out'"):
        write_set(full_run.replace(samples=strange), TRIPLETS, tmp_path / "strange")
    assert not (tmp_path / "strange").exists()
