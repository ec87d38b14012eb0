import pytest

from groundset.engine.config import make_config
from groundset.retrieval_eval.configs import own_retriever, retriever_configs
from programs.errors import InputError

RUN = {"documents": ("docs",), "embedder": "mini", "chunk_overlap": 100}


def configs(given, *options):
    return retriever_configs(make_config(given), *options)


def rows(found):
    return [(each.embedder, each.chunker, each.size) for each in found]


def test_the_runs_own_retriever_comes_first_and_once():
    found = configs(RUN, ["large", "mini"], ["sentence", "recursive"], [500, 1000])
    assert found[0] == own_retriever(make_config(RUN))
    assert rows(found) == [
        ("mini", "recursive", "1000 characters"),
        ("large", "sentence", "500 characters"),
        ("large", "sentence", "1000 characters"),
        ("large", "recursive", "500 characters"),
        ("large", "recursive", "1000 characters"),
        ("mini", "sentence", "500 characters"),
        ("mini", "sentence", "1000 characters"),
        ("mini", "recursive", "500 characters"),
    ]


def test_what_is_not_named_is_as_in_the_run():
    assert rows(configs(RUN, [], [], [])) == [("mini", "recursive", "1000 characters")]
    assert rows(configs(RUN, ["large"], [], []))[1:] == [("large", "recursive", "1000 characters")]
    assert rows(configs(RUN, [], ["word"], []))[1:] == [("mini", "word", "200 words")]
    assert rows(configs({**RUN, "chunk_size": 700}, [], ["recursive", "token"], [])) == [
        ("mini", "recursive", "700 characters"),
        ("mini", "token", "256 tokens"),
    ]


def test_the_overlap_keeps_its_share_and_small_chunks_are_not_joined_away():
    small = configs(RUN, [], [], [200])[1].options
    assert (small.chunk_overlap, small.min_length, small.merge) == (20, 40, 1)
    assert configs({**RUN, "recipe": "roundtrip"}, [], [], [2000])[1].options.min_length == 100
    large = configs(RUN, [], [], [4000])[1].options
    assert (large.chunk_overlap, large.min_length) == (400, 200)


@pytest.mark.parametrize("given", [{"chunks": "mine.parquet"}, {"documents": ("docs", "mine.jsonl")}])
def test_chunks_that_the_user_brought_are_a_retriever_of_their_own(given):
    found = configs({**RUN, **given}, [], ["recursive"], [])
    assert rows(found) == [("mini", "own chunks", ""), ("mini", "recursive", "1000 characters")]


def test_an_unknown_chunker_is_refused():
    with pytest.raises(InputError, match="--chunker magic: no such chunker; choose from recursive, sentence"):
        configs(RUN, [], ["magic"], [])
