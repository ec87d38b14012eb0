"""Splits of the triplets export."""

from collections import Counter

import pytest
from evaluation_sets import cut, document, sample

from groundset.sets.exports.triplets import split_by_document
from programs.errors import InputError


@pytest.fixture
def large(full_run):
    """Return forty documents with four chunks; three questions about each of the first thirty."""
    documents = [document(f"d{number:02d}", 4) for number in range(40)]
    chunks = [chunk for each in documents for chunk in cut(each)]
    samples = [sample(f"q-{chunk.chunk_id}", chunk) for chunk in chunks if chunk.doc_id < "d30" and chunk.start]
    return full_run.replace(samples=samples, chunks=chunks, documents=documents)


def test_documents_are_split_8_1_1(large):
    splits = split_by_document(large)
    assert Counter(splits.samples.values()) == {"train": 72, "dev": 9, "test": 9}
    for each in large.samples:
        assert splits.samples[each.id] == splits.documents[each.contexts[0].doc_id]
    silent = Counter(split for name, split in splits.documents.items() if name >= "d30")
    assert silent == {"train": 8, "dev": 1, "test": 1}, "documents that nothing is asked about"


def test_split_does_not_depend_on_order(large):
    turned = large.replace(samples=large.samples[::-1], chunks=large.chunks[::-1], documents=large.documents[::-1])
    assert split_by_document(turned) == split_by_document(large)


def test_linked_documents_stay_together(large):
    apart = split_by_document(large).documents
    one, other = (min(name for name, split in apart.items() if split == wanted) for wanted in ("dev", "test"))
    first = {chunk.doc_id: chunk for chunk in reversed(large.chunks)}
    linked = [sample("two", first["d00"], first[one]), sample("three", first["d00"], first[other])]
    splits = split_by_document(large.replace(samples=[*large.samples, *linked]))
    assert len({splits.documents[name] for name in ("d00", one, other)}) == 1
    assert set(splits.samples.values()) == {"train", "dev", "test"}
    known = sample("q", first[one]).model_copy(update={"retrieval_gt": ((first[one].chunk_id, first[other].chunk_id),)})
    splits = split_by_document(large.replace(samples=[*large.samples, known]))
    assert splits.documents[one] == splits.documents[other] == splits.samples["q"]


def test_shares_count_questions_not_documents(large):
    first = {chunk.doc_id: chunk for chunk in large.chunks}
    uneven = [sample(f"q-{name}-{n}", first[name]) for place, name in enumerate(first, 1) for n in range(place)]
    counts = Counter(split_by_document(large.replace(samples=uneven)).samples.values())
    assert counts == {"train": 656, "dev": 82, "test": 82}


@pytest.mark.parametrize(("count", "found"), [(1, {"train"}), (2, {"train"}), (3, {"train", "dev", "test"})])
def test_three_splits_need_three_documents(large, count, found):
    few = [each for each in large.samples if each.contexts[0].doc_id < f"d{count:02d}"]
    splits = split_by_document(large.replace(samples=few))
    assert set(splits.samples.values()) == found
    assert set(splits.documents.values()) == found, "no document lies in a split that nothing asks about"


def test_fewer_than_three_groups_make_one_split(large):
    first = {chunk.doc_id: chunk for chunk in reversed(large.chunks)}
    uneven = [*(sample(f"q-{n}", first["d00"]) for n in range(9)), sample("one", first["d01"])]
    tied = [*uneven, sample("two", first["d01"], first["d02"])]
    for samples in (uneven, tied):
        splits = split_by_document(large.replace(samples=samples))
        assert {*splits.samples.values(), *splits.documents.values()} == {"train"}


def test_own_splits_are_kept_if_complete(large):
    own = [
        each.model_copy(update={"split": "validation" if each.contexts[0].doc_id < "d10" else "test"})
        for each in large.samples
    ]
    splits = split_by_document(large.replace(samples=own))
    assert splits.samples == {each.id: each.split for each in own}
    assert Counter(split for name, split in splits.documents.items() if name >= "d30") == {"test": 7, "validation": 3}
    drawn = split_by_document(large.replace(samples=[own[0].model_copy(update={"split": None}), *own[1:]]))
    assert drawn == split_by_document(large)


def test_own_splits_must_not_share_a_document(large):
    own = [each.model_copy(update={"split": f"s{place % 2}"}) for place, each in enumerate(large.samples)]
    with pytest.raises(InputError, match=r"document d00 .* s0 and s1"):
        split_by_document(large.replace(samples=own))
