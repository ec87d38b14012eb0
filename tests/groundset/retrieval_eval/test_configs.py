"""Retriever configurations."""

import pytest

from groundset.engine.config import make_config
from groundset.retrieval_eval.configs import own_retriever, retriever_configs
from programs.errors import InputError

RUN = {"documents": ("docs",), "embedder": "mini", "chunk_overlap": 100}
OWN = ("mini", "recursive", "1000 characters")


def configs(given, *options):
    return retriever_configs(make_config(given), *options)


def rows(found):
    return [(config.embedder, config.chunker, config.size) for config in found]


def test_own_retriever_comes_first():
    found = configs(RUN, ["large", "mini"], ["sentence", "recursive"], [500, 1000])
    assert found[0] == own_retriever(make_config(RUN))
    cuts = [(chunker, f"{size} characters") for chunker in ("sentence", "recursive") for size in (500, 1000)]
    every = [(embedder, *cut) for embedder in ("large", "mini") for cut in cuts]
    assert rows(found) == [OWN, *(row for row in every if row != OWN)]


@pytest.mark.parametrize(
    ("given", "options", "others"),
    [
        ({}, ([], [], []), []),
        ({}, (["large"], [], []), [("large", "recursive", "1000 characters")]),
        ({}, ([], ["word"], []), [("mini", "word", "200 words")]),
        ({"chunk_size": 700}, ([], ["recursive", "token"], []), [("mini", "token", "256 tokens")]),
    ],
)
def test_defaults_of_the_run(given, options, others):
    own, *found = rows(configs({**RUN, **given}, *options))
    assert own == ("mini", "recursive", f"{given.get('chunk_size', 1000)} characters")
    assert found == others


def test_overlap_and_min_length_scale_with_size():
    small = configs(RUN, [], [], [200])[1].options
    assert (small.chunk_overlap, small.min_length, small.merge) == (20, 40, 1)
    assert configs({**RUN, "recipe": "roundtrip"}, [], [], [2000])[1].options.min_length == 100
    large = configs(RUN, [], [], [4000])[1].options
    assert (large.chunk_overlap, large.min_length) == (400, 200)


@pytest.mark.parametrize("given", [{"chunks": "mine.parquet"}, {"documents": ("docs", "mine.jsonl")}])
def test_user_supplied_chunks(given):
    assert rows(configs({**RUN, **given}, [], ["recursive"], [])) == [("mini", "own chunks", ""), OWN]


def test_unknown_chunker():
    with pytest.raises(InputError, match=r"--chunker magic: .* recursive, sentence"):
        configs(RUN, [], ["magic"], [])
