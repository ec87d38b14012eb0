"""Which differences between retrievers are real, and how they are put into sentences."""

import numpy as np

from groundset.corpus import CorpusOptions
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
    """Return the sentences on retrievers and what each of their questions found, 1 or 0."""
    configs, hits = zip(*found, strict=True)
    compared = differences([scores(each) for each in hits], np.arange(len(hits[0])))
    return sentences(compared, configs, len(hits[0]))


def test_a_real_difference_is_one_sentence_that_names_what_differs():
    [line] = lines((LARGE, [0] * 60 + [1] * 60), (SMALL, [0] * 30 + [1] * 90))
    assert line == (
        "mini at 500 characters finds more than at 1000 characters: hit@1 +0.25 (0.17 to 0.33), p<0.001; "
        "mean reciprocal rank +0.19 (0.13 to 0.25), p<0.001; n=120."
    )


def test_the_better_one_comes_first_whichever_row_it_is():
    other = RetrieverConfig("large", LARGE.options)
    hits = [1] * 40, [0] * 20 + [1] * 20
    found, _ = differences([scores(each) for each in hits], np.arange(40))
    assert (found.measure, found.better, found.worse, found.is_real, found.gain.value) == (HIT, 0, 1, True, 0.5)
    assert lines((LARGE, hits[0]), (other, hits[1]))[0].startswith("mini finds more than large: hit@1 +0.50")


def test_what_cannot_be_told_apart_is_named_with_what_it_would_take():
    one, other = np.random.default_rng(0).random((2, 50)) < 0.5
    [line] = lines((LARGE, one), (WORDS, other))
    assert line.startswith("No difference can be told apart with n=50; it would take one of about 0.")
    assert "in hit@1 or 0." in line
    assert line.endswith("in mean reciprocal rank.")
    assert lines((LARGE, one), (WORDS, one))[0].startswith("No difference")
    [few] = lines((LARGE, [0, 1]), (SMALL, [1, 0]))
    assert few == "No difference can be told apart with n=2; it takes more questions to see any."
    assert lines((RetrieverConfig("mini", None), [1, 0])) == [], "one alone is compared with nothing"


def test_all_pairs_are_compared_and_corrected_together():
    base = np.array([0] * 50 + [1] * 50)
    slightly = base.copy()
    slightly[:6] = 1
    alone = differences([scores(base), scores(slightly)], np.arange(100))
    among = differences([scores(base), scores(base), scores(slightly)], np.arange(100))
    pairs = [(measure, pair) for pair in ({0, 1}, {0, 2}, {1, 2}) for measure in (HIT, RECIPROCAL)]
    assert [(found.measure, {found.better, found.worse}) for found in among] == pairs
    assert alone[0].p < among[2].p


def test_retrievers_that_share_nothing_are_named_in_full():
    assert lines((LARGE, [0] * 50), (RetrieverConfig("large", WORDS.options), [1] * 50))[0].startswith(
        "large with the word chunker at 200 words finds more than mini with the recursive chunker at 1000 characters: "
    )
