import numpy as np

from groundset.corpus import CorpusOptions
from groundset.retrieval_eval.differences import HIT, RECIPROCAL, Scores, differences, sentences
from groundset.retrieval_eval.settings import RetrievalSetting

RECURSIVE = CorpusOptions(chunk_size=1000)
SMALL = CorpusOptions(chunk_size=500)
WORDS = CorpusOptions(chunker="word", chunk_size=200)


def scores(setting, hits):
    hits = np.asarray(hits, dtype=float)
    return Scores(setting, hits, np.where(hits, 1.0, 0.25))


def told(*found):
    units = np.arange(len(found[0].hits))
    return sentences(differences(found, units), [each.setting for each in found], len(units))


def test_a_real_difference_is_one_sentence_that_names_what_differs():
    poor, good = [0] * 60 + [1] * 60, [0] * 30 + [1] * 90
    [line] = told(scores(RetrievalSetting("mini", RECURSIVE), poor), scores(RetrievalSetting("mini", SMALL), good))
    assert line == (
        "mini at 500 characters finds more than at 1000 characters: hit@1 +0.25 (0.17 to 0.33), p<0.001; "
        "mean reciprocal rank +0.19 (0.13 to 0.25), p<0.001; n=120."
    )


def test_the_better_one_comes_first_whichever_row_it_is():
    found = (
        scores(RetrievalSetting("mini", RECURSIVE), [1] * 40),
        scores(RetrievalSetting("large", RECURSIVE), [0] * 20 + [1] * 20),
    )
    each, _ = differences(found, np.arange(40))
    assert (each.measure, each.better, each.worse, each.is_real) == (HIT, 0, 1, True)
    assert each.gain.value == 0.5
    assert told(*found)[0].startswith("mini finds more than large: hit@1 +0.50")


def test_what_cannot_be_told_apart_is_said_with_what_it_would_take():
    rng = np.random.default_rng(0)
    one, other = rng.random((2, 50)) < 0.5
    [line] = told(scores(RetrievalSetting("mini", RECURSIVE), one), scores(RetrievalSetting("mini", WORDS), other))
    assert line.startswith("No difference can be told apart with n=50; it would take one of about 0.")
    assert "in hit@1 or 0." in line
    assert line.endswith("in mean reciprocal rank.")
    [same] = told(scores(RetrievalSetting("mini", RECURSIVE), one), scores(RetrievalSetting("mini", WORDS), one))
    assert same.startswith("No difference")


def test_too_few_questions_are_called_so():
    [line] = told(scores(RetrievalSetting("mini", RECURSIVE), [0, 1]), scores(RetrievalSetting("mini", SMALL), [1, 0]))
    assert line == "No difference can be told apart with n=2; it takes more questions to see any."


def test_all_pairs_are_compared_and_corrected_together():
    base = np.array([0] * 50 + [1] * 50)
    slightly = base.copy()
    slightly[:6] = 1
    last = scores(RetrievalSetting("mini", WORDS), slightly)
    first, second = (scores(RetrievalSetting("mini", options), base) for options in (RECURSIVE, SMALL))
    alone = differences([first, last], np.arange(100))
    among = differences([first, second, last], np.arange(100))
    assert [(each.measure, {each.better, each.worse}) for each in among] == [
        (HIT, {0, 1}),
        (RECIPROCAL, {0, 1}),
        (HIT, {0, 2}),
        (RECIPROCAL, {0, 2}),
        (HIT, {1, 2}),
        (RECIPROCAL, {1, 2}),
    ]
    assert alone[0].p < among[2].p


def test_settings_that_share_nothing_are_named_in_full():
    worse, better = (
        scores(RetrievalSetting("mini", RECURSIVE), [0] * 50),
        scores(RetrievalSetting("large", WORDS), [1] * 50),
    )
    assert told(worse, better)[0].startswith(
        "large with the word chunker at 200 words finds more than mini with the recursive chunker at 1000 characters: "
    )


def test_one_setting_is_compared_with_nothing():
    assert told(scores(RetrievalSetting("mini", None), [1, 0])) == []
