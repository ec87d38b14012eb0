"""Heads whose weights are set by hand: what decides before anything was compiled."""

from collections.abc import Callable, Mapping

from programs.evidence import answer_features, chunk_features, question_features
from programs.languages.table import Languages
from programs.numbers import logistic
from programs.text import numbers, share

Similarity = Callable[[str, str], float]


def _chunk(inputs: Mapping[str, str], similarity: Similarity, languages: Languages) -> dict[str, float]:
    del similarity
    f = chunk_features(inputs["passage"], inputs["topic"], languages.of(inputs["passage"].strip()))
    content = (
        2.6
        + 2.5 * (f["whole_share"] - 0.6)
        + 9 * min(0.0, f["stop_share"] - 0.28)
        - 0.9 * min(5.0, f["citations"])
        - 0.35 * max(0.0, f["years"] - 3)
        - 2.4 * f["list_share"]
        - 1.6 * f["short_line_share"]
        - 0.7 * min(5.0, f["code"])
        - 12 * max(0.0, f["digit_share"] - 0.06)
        - 6 * max(0.0, f["capital_share"] - 0.3)
        - 0.5 * min(4.0, f["boilerplate"])
        - 3.0 * f["boilerplate_heading"]
        - 1.5 * (f["whole_sentences"] < 2)
    )
    self_contained = (
        2.2
        - 1.2 * f["starts_dependent"]
        - 1.6 * f["starts_mid"]
        - 0.6 * f["ends_open"]
        - 0.12 * min(15.0, f["pronouns"])
        + 0.6 * f["names_topic"]
        - 1.0 * (f["words"] < 30)
    )
    return {
        "fit": logistic(min(content, self_contained)),
        "content": logistic(content),
        "self_contained": logistic(self_contained),
        "clarity": logistic(1.0 + 3 * (f["whole_share"] - 0.5) - 0.5 * f["code"]),
        "depth": logistic(-1.5 + 0.06 * min(60.0, f["facts"]) + 0.015 * min(120.0, f["words"])),
        "structure": logistic(-2.0 + 4 * f["whole_share"] - 2 * f["list_share"]),
        "relevance": logistic(0.2 + 1.5 * f["names_topic"] + 1.0 * f["topic_overlap"]),
    }


def _judge(inputs: Mapping[str, str], similarity: Similarity, languages: Languages) -> dict[str, float]:
    passage, question = inputs["passage"], inputs["question"]
    f = question_features(question, passage, languages.of(passage), languages.of(question))
    independent = (
        2.0
        - 4.5 * f["context_reference"]
        - 1.8 * f["pronouns"]
        - 2.2 * f["generic"]
        - 2.5 * f["broad"]
        + 0.7 * min(2.0, f["names"] + f["numbers"])
    )
    clear = (
        1.8
        - 4.0 * (1 - f["question_mark"])
        - 3.0 * f["several"]
        - 3.0 * (1 - f["question_word"])
        - 1.2 * f["question_word_late"] * (1 - f["opens_with_question_word"])
        - 3.0 * f["other_language"]
        - 2.5 * (f["words"] < 3)
        - 0.25 * max(0.0, f["words"] - 22)
        - 6.0 * max(0.0, f["repeats"] - 0.2)
        - 1.0 * (1 - f["capital_or_digit"])
        - 1.2 * f["repeated_names"]
        - 2.4 * f["ungrammatical"]
        - 1.5 * f["broad"]
    )
    answerable = (
        -2.2
        + 3.2 * f["coverage"]
        - 0.35 * f["missing"]
        - 1.6 * f["absent_numbers"]
        - 0.8 * f["absent_names"]
        + 3.5 * similarity(question, passage)
    )
    return {
        "fit": logistic(min(independent, clear, answerable)),
        "independent": logistic(independent),
        "clear": logistic(clear),
        "answerable": logistic(answerable),
    }


def _same(inputs: Mapping[str, str], similarity: Similarity, languages: Languages) -> dict[str, float]:
    first, second = inputs["first"], inputs["second"]
    if numbers(first) != numbers(second):
        return {"same": 0.1}
    language = languages.of(f"{first} {second}")
    left, right = set(language.content_words(first)), set(language.content_words(second))
    added = len(right - left)
    return {"same": logistic(-9 + 11 * similarity(first, second) - 1.1 * added)}


def _grounding(inputs: Mapping[str, str], similarity: Similarity, languages: Languages) -> dict[str, float]:
    del similarity
    f = answer_features(inputs["passage"], inputs["question"], inputs["answer"], languages.of(inputs["passage"]))
    if not f["words"]:
        return {"grounded": 0.01}
    return {
        "grounded": logistic(
            -2.6
            + 1.6 * f["verbatim"]
            + 1.5 * f["supported"]
            - 9.0 * max(0.0, f["in_question"] - 0.3)
            - 3.5 * (1 - f["kind_agrees"])
            + 2.0 * f["sentence_overlap"]
            + 3.0 * (f["near"] - 0.6)
            - 0.12 * max(0.0, f["words"] - 12)
        )
    }


def _agree(inputs: Mapping[str, str], similarity: Similarity, languages: Languages) -> dict[str, float]:
    first, second = inputs["first"], inputs["second"]
    language = languages.of(f"{first} {second}")
    if numbers(language.in_digits(first)) != numbers(language.in_digits(second)):
        return {"agree": 0.1}
    words = [set(language.content_words(text)) for text in (first, second)]
    held = share(len(words[0] & words[1]), min(map(len, words)))  # one may say more than the other
    return {"agree": logistic(-4.5 + 4 * similarity(first, second) + 4 * held)}


HAND_SET: dict[str, Callable[[Mapping[str, str], Similarity, Languages], dict[str, float]]] = {
    "chunk": _chunk,
    "judge": _judge,
    "same": _same,
    "grounding": _grounding,
    "agree": _agree,
}
