"""The rows are what sentence-transformers' trainer takes, and no text of a document is in two files."""

import json

import pytest
from evaluation_sets import evaluation_set

from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS
from programs.errors import InputError

TRIPLETS = [EXPORTS["triplets"]]
COLUMNS = ["anchor", "positive", *(f"negative_{number}" for number in range(1, 6))]


def exported(content, out):
    write_set(content, TRIPLETS, out)
    return {
        file.stem: [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]]
        for file in sorted(out.iterdir())
    }


def test_rows_have_a_question_its_passage_and_five_others(tmp_path):
    content = evaluation_set()
    rows = exported(content, tmp_path / "out")
    assert {name: len(found) for name, found in rows.items()} == {"dev": 1, "test": 1, "train": 10}
    texts = {chunk.text for chunk in content.chunks}
    positives = {each.question: each.contexts[0].text for each in content.samples}
    for row in (row for found in rows.values() for row in found):
        assert list(row) == COLUMNS
        assert row["positive"] == positives[row["anchor"]]
        assert len({*row.values()}) == len(COLUMNS)
        assert {*row.values()} - {row["anchor"]} <= texts


def test_no_text_of_a_document_is_in_two_files(tmp_path):
    content = evaluation_set()
    rows = exported(content, tmp_path / "out")
    of = {chunk.text: chunk.doc_id for chunk in content.chunks}
    seen = {name: {of[text] for row in found for text in list(row.values())[1:]} for name, found in rows.items()}
    assert not seen["train"] & seen["dev"] | seen["train"] & seen["test"] | seen["dev"] & seen["test"]
    assert len(seen["train"]) > 1


def test_a_question_that_needs_several_chunks_has_a_row_for_each(tmp_path):
    content = evaluation_set()
    both = (content.chunks[1], content.chunks[25])
    asked = [
        content.samples[0].model_copy(update={"contexts": both, "retrieval_gt": tuple((c.chunk_id,) for c in both)})
    ]
    fewer = content.only([0, *range(3, len(content))])
    rows = exported(fewer.replace(samples=[*asked, *content.samples[3:]]), tmp_path / "out")
    found = [row for each in rows.values() for row in each if row["anchor"] == asked[0].question]
    assert [row["positive"] for row in found] == [chunk.text for chunk in both]
    assert not {chunk.text for chunk in both} & {text for row in found for text in list(row.values())[2:]}


def test_all_rows_have_as_many_negatives_and_few_are_left_out(tmp_path):
    rows = exported(evaluation_set(documents=1, chunks=4), tmp_path / "small")
    assert [list(row) for row in rows["train"]] == [COLUMNS[:5]], "three are all there are"
    assert exported(evaluation_set(documents=1, chunks=2), tmp_path / "two")["train"][0].keys() == {*COLUMNS[:3]}
    content = evaluation_set(documents=21)
    lost = content.samples[0].model_copy(update={"answer": "says that"})  # in every chunk
    rows = exported(content.replace(samples=[lost, *content.samples[1:]]), tmp_path / "most")
    assert sum(map(len, rows.values())) == 20
    assert {tuple(row) for found in rows.values() for row in found} == {tuple(COLUMNS)}


def test_the_splits_of_the_run_are_kept_and_others_than_these_are_refused(tmp_path):
    content = evaluation_set()
    own = [each.model_copy(update={"split": "validation" if n else "test"}) for n, each in enumerate(content.samples)]
    rows = exported(content.replace(samples=own), tmp_path / "out")
    assert {name: len(found) for name, found in rows.items()} == {"test": 1, "validation": 11}
    strange = [each.model_copy(update={"split": "held-out"}) for each in own]
    with pytest.raises(InputError, match=r"--format triplets: writes the splits train, dev, .* has 'held-out'"):
        write_set(content.replace(samples=strange), TRIPLETS, tmp_path / "strange")
    assert not (tmp_path / "strange").exists()
