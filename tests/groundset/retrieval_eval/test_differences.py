"""Significance tests between retrievers, and their conclusions."""

import re
from dataclasses import replace

import numpy as np

from groundset.corpus.corpus import CorpusOptions
from groundset.retrieval_eval.compare import HIT, RECIPROCAL, Scores, differences
from groundset.retrieval_eval.configs import RetrieverConfig
from groundset.retrieval_eval.report import sentences

LARGE = RetrieverConfig("mini", CorpusOptions(chunk_size=1000))
SMALL = RetrieverConfig("mini", CorpusOptions(chunk_size=500))
WORDS = RetrieverConfig("mini", CorpusOptions(chunker="word", chunk_size=200))


def scores(hits):
    hits = np.asarray(hits, dtype=float)
    return Scores(hits, np.where(hits, 1.0, 0.25))


def lines(*found):
    """Return the conclusions on retrievers, given as pairs of a configuration and its hits."""
    configs, hits = zip(*found, strict=True)
    compared = differences([scores(row) for row in hits], np.arange(len(hits[0])))
    return sentences(compared, configs, len(hits[0]))


def test_significant_difference_is_described():
    [line] = lines((LARGE, [0] * 60 + [1] * 60), (SMALL, [0] * 30 + [1] * 90))
    better, worse = line.index("mini at 500 characters"), line.index("at 1000 characters")
    assert better < worse
    assert "hit@1 +0.25 (0.17 to 0.33), p<0.001; mean reciprocal rank +0.19 (0.13 to 0.25), p<0.001; n=120" in line


def test_rerankers_are_named():
    reranked, better = replace(LARGE, reranker="cross"), [1] * 50
    [line] = lines((LARGE, [0] * 50), (reranked, better))
    assert line.startswith("mini reranked by cross is better than without reranking: hit@1 +1.00")
    [line] = lines((LARGE, [0] * 50), (replace(SMALL, reranker="cross"), better))
    assert line.startswith("mini reranked by cross at 500 characters is better than without reranking at 1000 ")


def test_better_retriever_comes_first():
    other = RetrieverConfig("large", LARGE.options)
    hits = [1] * 40, [0] * 20 + [1] * 20
    found, _ = differences([scores(row) for row in hits], np.arange(40))
    assert (found.measure, found.better, found.worse, found.is_significant, found.gain.value) == (HIT, 0, 1, True, 0.5)
    assert lines((LARGE, hits[0]), (other, hits[1]))[0].startswith("mini is better than large: hit@1 +0.50")


def test_minimum_detectable_difference():
    one, other = np.random.default_rng(0).random((2, 50)) < 0.5
    [line] = lines((LARGE, one), (WORDS, other))
    assert re.search(r"n=50; minimum detectable difference: 0\.\d\d in hit@1 or 0\.\d\d in mean reciprocal rank", line)
    [few] = lines((LARGE, [0, 1]), (SMALL, [1, 0]))
    assert "n=2; more questions" in few
    assert lines((RetrieverConfig("mini", None), [1, 0])) == []


def test_all_pairs_are_corrected_together():
    base = np.array([0] * 50 + [1] * 50)
    slightly = base.copy()
    slightly[:6] = 1
    alone = differences([scores(base), scores(slightly)], np.arange(100))
    among = differences([scores(base), scores(base), scores(slightly)], np.arange(100))
    pairs = [(measure, pair) for pair in ({0, 1}, {0, 2}, {1, 2}) for measure in (HIT, RECIPROCAL)]
    assert [(found.measure, {found.better, found.worse}) for found in among] == pairs
    assert alone[0].p < among[2].p


def test_unrelated_retrievers_are_named_in_full():
    [line] = lines((LARGE, [0] * 50), (RetrieverConfig("large", WORDS.options), [1] * 50))
    assert line.startswith("large with the word chunker at 200 words ")
    assert " mini with the recursive chunker at 1000 characters: " in line
