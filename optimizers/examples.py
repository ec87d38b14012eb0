"""Examples of the steps, made from labels and gold rows.

An example has the inputs and, as far as its row tells, the outputs of its step. Beside them it has
``id``, ``split``, ``document``, ``language`` and ``group``; one of a step that decides also
``good``, and ``fault``, the output that is wrong. Steps were smaller when the gold rows were
written, so that rows of several files pool in one step.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any, NamedTuple

import dspy

from groundset.optimizers.labels import FAULTS, NOT_STATED, ChunkLabel, GoldRow, QuestionLabel, Row
from groundset.programs.forms import AS_PERSONA, EVOLUTIONS, FOLLOW_UP, KINDS, SIMPLE, UNANSWERABLE
from groundset.programs.outcome import (
    AGREE,
    FITS,
    PREMISE,
    RELEVANT,
    RESOLVES,
    SAME_QUESTION,
    VIEWPOINTS,
)
from groundset.programs.profiled import ProfileTable
from groundset.programs.recipe import LENGTHS, MEND, Passage, numbered
from groundset.programs.step import STEPS
from groundset.programs.text import plain

_plain = cache(plain)  # a passage occurs in many rows
_SURE, _UNSURE = 95, 5  # confidence of an editor that a good and a bad row is kept
_TWIN = "-twin"  # ends the id of a good question that was spoilt in a word or two
_CLAIMS = {"agree": AGREE, "same": SAME_QUESTION, "resolve": RESOLVES, "premise": PREMISE}
_REASONS = {  # of kinds of gold rows that have no explanation, as a judge would write it
    "": "nothing that matters is wrong",
    "fact": "a fact differs",
    "missing": "the second lacks what the question asks for",
    "other": "it asks or answers something else",
    "changed": "the second needs something that the first does not",
    "premise": "the first text does not state what the question takes for granted",
    "subject": "it is about another thing",
    "condition": "a condition was added or dropped",
    "unsupported": "the passage does not say this",
    "incomplete": "the answer lacks a part",
    "unclear": "nobody can tell what is asked",
    "conjoined": "it asks two things",
    "gives_away": "the question gives its answer away",
    "useless": "nobody would ask this",
}
# Of labels without an explanation.
_KEPT = "It names its subject, asks one clear thing, and the passage answers it."
_REFUSED = {
    "context_reference": "It points at the passage.",
    "vague": "A word in it says nothing without the passage.",
    "unanswerable": "The passage does not say it.",
    "wrong_premise": "The passage does not state what it presupposes.",
    "malformed": "It is not well formed.",
    "conjoined": "It asks two things.",
    "gives_away": "It holds its own answer.",
    "citation": "There are only references.",
    "metadata": "There is only data about the document.",
    "boilerplate": "It is what every page has.",
    "too_thin": "It says too little.",
    "not_self_contained": "Nobody can tell what it is about.",
}
# From the kinds of questions about one fact to those of the step `ask`.
_KINDS = {
    **dict.fromkeys(("amount", "place", "time", "person", "what"), "fact"),
    "what_if": "consequence",
}
_SHORTER = (
    "Say it in fewer words, as somebody would type it, and keep every name, number and condition."
)
_SEVERAL = "not clear: it asks several things; keep the first"


class _Known(NamedTuple):
    """What rows refer to: texts of chunks, answers of spoilt questions, spoilt questions, and
    clues, by id.
    """

    texts: dict[str, str]
    answers: dict[str, str]
    spoilt: dict[str, QuestionLabel]
    clues: dict[str, list[Any]]


def examples(step: str, rows: Iterable[Row]) -> list[dspy.Example]:
    """Return the examples of a step that rows give, of all splits; rows that give none are ignored.

    Raises:
        KeyError: there is no such step.
    """
    kinds, build = _EXAMPLES[step]
    inputs = STEPS[step].signature.input_fields
    rows = list(rows)
    known = _known(rows)
    made = []
    for row in rows:
        kind = row.step if isinstance(row, GoldRow) else type(row)
        if kind not in kinds:
            continue
        facts = {
            "id": row.id,
            "split": row.split,
            "document": row.sources[0],
            "language": row.language,
            "group": str(kind),
        }
        for values in build(row, known):
            given = [name for name in inputs if name in values]
            made.append(dspy.Example(**{**facts, **values}).with_inputs(*given))
    return made


def _known(rows: Iterable[Row]) -> _Known:
    known = _Known({}, {}, {}, defaultdict(list))
    for row in rows:
        if isinstance(row, ChunkLabel):
            known.texts[row.id] = row.text
        elif isinstance(row, QuestionLabel) and row.id.endswith(_TWIN):
            known.spoilt[row.id] = row
        elif isinstance(row, GoldRow):
            known.answers[row.id + _TWIN] = getattr(row, "answer", "")
            if row.step == "clues":
                known.clues[row.chunk].append(row)
    return known


def spread(rows: Sequence[dspy.Example], *, seed: int = 0) -> list[dspy.Example]:
    """Return shuffled examples with good and bad ones, and within these their groups, in turn, as
    long as both last.

    What optimizers take from the front is then balanced; labels have three bad rows for a good one.
    """
    shuffled = random.Random(seed).sample(list(rows), len(rows))
    parts = [_in_turn(part) for _, part in sorted(_by(shuffled, "good").items(), reverse=True)]
    shortest = min(map(len, parts), default=0)
    return [row for turn in zip(*(part[:shortest] for part in parts), strict=True) for row in turn]


def _by(rows: Iterable[dspy.Example], name: str) -> dict[str, list[dspy.Example]]:
    groups = defaultdict(list)
    for row in rows:
        groups[str(row.get(name))].append(row)
    return groups


def _in_turn(rows: Iterable[dspy.Example]) -> list[dspy.Example]:
    turns = zip_longest(*(group for _, group in sorted(_by(rows, "group").items())))
    return [row for turn in turns for row in turn if row is not None]


def is_complete(step: str, example: dspy.Example) -> bool:
    """Return whether an example has all outputs of its step, so that it can be a whole demo."""
    return all(name in example for name in STEPS[step].signature.output_fields)


def _topic(topic: str) -> str:
    """Return a topic without repeated headings, as chunks of a run have it."""
    return " > ".join(dict.fromkeys(part.strip() for part in topic.split(" > ")))


def _passages(row: Any, topics: Sequence[str], known: _Known) -> str:
    """Return the chunks of a row as a prompt shows them; empty if one is unknown."""
    if len(topics) != len(row.chunks) or any(chunk not in known.texts for chunk in row.chunks):
        return ""
    return numbered(
        [
            Passage(_plain(known.texts[chunk]), _topic(topic))
            for chunk, topic in zip(row.chunks, topics, strict=True)
        ]
    )


def _passage(row: Any, known: _Known) -> str:
    return _plain(known.texts.get(row.chunk, ""))


def _labelled(row: Any, parts: Sequence[str]) -> dict[str, Any]:
    """Return the decisions of a label."""
    fault = FAULTS.get(row.reason, "")
    return {
        "topic": _topic(row.topic),
        "reason": row.explanation or _REFUSED.get(row.reason, _KEPT),
        "good": row.good,
        "fault": fault,
        "group": row.reason,
        **{name: name != fault for name in parts},
        "confidence": _SURE if row.good else _UNSURE,
    }


def _decided(good: bool, output: str, **more: Any) -> dict[str, Any]:
    return {output: good, "good": good, "fault": "" if good else output, **more}


def _chunk(row: Any, _: _Known) -> list[dict[str, Any]]:
    return [{"passage": _plain(row.text), **_labelled(row, ("content", "self_contained"))}]


def _judge(row: Any, known: _Known) -> list[dict[str, Any]]:
    values = {"passage": _plain(row.passage), "question": row.question}
    values |= _labelled(row, ("independent", "clear", "answerable"))
    is_right = row.answer is not None and row.answer.label == "correct"
    if row.good and row.answer is not None and not is_right:
        values["reason"] = _KEPT  # the explanation is about the answer
    if values["fault"] == "answerable":
        values["answer"] = NOT_STATED
    elif is_right:
        values["answer"] = row.answer.text
    elif row.id in known.answers:
        values["answer"] = known.answers[row.id]
    return [values]


def _keyphrases(row: Any, _: _Known) -> list[dict[str, Any]]:
    return [
        {
            "topic": _topic(row.topic),
            "passage": _plain(row.passage),
            "keyphrases": list(row.keyphrases),
        }
    ]


def _ask(row: Any, known: _Known) -> list[dict[str, Any]]:
    """Return a question about a whole passage; one of a fact, or a changed one, has its facts as
    evidence.
    """
    passage = _plain(row.passage) if row.step in ("ask", UNANSWERABLE) else _passage(row, known)
    form = row.step if row.step in EVOLUTIONS else SIMPLE
    kind = _KINDS.get(row.kind, row.kind) if form == SIMPLE else "fact"
    written = {"form": form, "kind": kind}
    if form == UNANSWERABLE:
        written |= {"question": row.question, "answer": row.missing}
        evidence = []
    else:
        question = row.question if form == SIMPLE else getattr(row, f"{form}_question")
        evidence = [_plain(text) for text in _evidence(row)]
        written |= {"question": question, "answer": row.answer, "evidence": evidence}
    if kind not in KINDS or any(text not in passage for text in evidence):
        return []
    given = {
        "topic": _topic(row.topic),
        "passage": passage,
        "forms": [f"{form}: {EVOLUTIONS[form].form}"],
        "kinds": ", ".join(dict.fromkeys((kind, *KINDS))),
        "answers": LENGTHS[getattr(row, "answers", "short")],
    }
    if row.step == "ask" and row.before:
        given["before"] = row.before
    return [given | written]


def _evidence(row: Any) -> Sequence[str]:
    if row.step == "ask":
        return (row.evidence,)
    return (row.fact,) if row.step == "question" else row.facts


def _combine(row: Any, known: _Known) -> list[dict[str, Any]]:
    topics = row.topic.split("|")
    if len(topics) == 1:
        topics *= len(row.chunks)
    passages = _passages(row, topics, known)
    text = " ".join(passages.split())
    if not text or any(_plain(fact) not in text for fact in row.facts):
        return []
    return [
        {
            "passages": passages,
            "answers": LENGTHS["short"],
            "kind": row.kind,
            "question": row.question,
            "answer": row.answer,
            "evidence": list(row.facts),
            "group": row.kind,
        }
    ]


def _fact(row: Any, known: _Known) -> list[dict[str, Any]]:
    if row.kind == "yes_no":
        return []
    return [
        {
            "topic": _topic(row.topic),
            "fact": row.fact,
            "answer": row.answer,
            "question": row.question,
            "passage": _passage(row, known) or row.fact,
            "group": row.kind,
        }
    ]


def _compare(row: Any, _: _Known) -> list[dict[str, Any]]:
    values = {"claim": _CLAIMS[row.step], "first": row.first, "second": row.second}
    values |= {"question": row.question} if row.step == "agree" else {}
    return [_decided(row.alike, "holds", **values, reason=_REASONS.get(row.kind, row.kind))]


def _review(row: Any, known: _Known) -> list[dict[str, Any]]:
    values = {"question": row.question}
    if row.step == "relevance":
        good = row.relevant
        values |= {"criterion": RELEVANT, "passage": _passage(row, known)}
    elif row.step == "fits":
        good = row.fits
        values |= {"criterion": f"{FITS}{row.profile}", "answer": row.answer}
        values["passage"] = _passages(row, row.topics, known)
    else:
        good = row.approved
        values |= {"criterion": VIEWPOINTS[row.viewpoint], "passage": row.passage}
        values |= {"answer": row.answer, "opinions": row.opinions}
    if not values["passage"]:
        return []
    reason = _REASONS.get(getattr(row, "kind", ""), "it is not met")
    values["reason"] = getattr(row, "explanation", "") or reason
    return [_decided(good, "approved", **values)]


def _revise(row: Any, known: _Known) -> list[dict[str, Any]]:
    passage = _plain(known.texts.get(row.chunk or next(iter(row.chunks), ""), ""))
    values: dict[str, Any] = {"question": row.question, "style": row.step}
    values |= {"topic": _topic(row.topic)} if getattr(row, "topic", "") else {}
    values |= {"passage": passage} if passage and row.step != "reword" else {}
    if getattr(row, "answer", ""):  # else the row does not tell; the change does not concern it
        values |= {"answer": row.answer, "new_answer": row.answer}
    if row.step == "rewrite":
        values["change"] = MEND.format(fault=row.feedback.rstrip("."))
        values["new_question"] = row.better_question
    elif row.step == "compress":
        values |= {"change": _SHORTER, "new_question": row.short_question}
    elif row.step == "split":
        values["change"] = MEND.format(fault=_SEVERAL)
        values["new_question"] = row.questions[0]
    elif row.step == "reword":
        values["change"] = AS_PERSONA.format(persona=row.persona)
        values |= {"new_question": row.wording, "style": row.kind}
    else:
        conversation = f"User: {row.question} Assistant: {row.answer}"
        values["change"] = FOLLOW_UP.format(conversation=conversation)
        values |= {"question": row.stand_alone_question, "passage": _plain(row.passage)}
        values |= {"answer": row.new_answer, "new_answer": row.new_answer}
        values["new_question"] = row.follow_up
    return [values]


def _put(row: Any, known: _Known) -> list[dict[str, Any]]:
    values = row.model_dump(include=set(STEPS["reword"].signature.fields))
    return [values | {"topic": _topic(row.topic), "passage": _passage(row, known)}]


def _answer(row: Any, _: _Known) -> list[dict[str, Any]]:
    """Return a question with its answer, one in six "not stated": compiled on more, a model refused
    good questions.
    """
    if not isinstance(row, QuestionLabel):
        answer = "" if row.kind == "yes_no" else row.answer
    elif row.good and row.answer is not None and row.answer.label == "correct":
        answer = row.answer.text
    else:
        answer = NOT_STATED if row.reason == "unanswerable" else ""
    group = NOT_STATED if answer == NOT_STATED else f"{isinstance(row, GoldRow)} {row.language}"
    asked = {"topic": _topic(row.topic), "passage": _plain(row.passage), "question": row.question}
    return [{**asked, "answer": answer, "group": group}] if answer else []


def _clues(row: Any, known: _Known) -> list[dict[str, Any]]:
    """Return all clues of a chunk, at its first row."""
    rows, passage = known.clues[row.chunk], _passage(row, known)
    if row is not rows[0] or not passage:
        return []
    names = ("clue", "example", "description")
    clues = [{name: getattr(clue, name) for name in names} for clue in rows]
    return [{"topic": _topic(row.topic), "passage": passage, "count": len(clues), "clues": clues}]


def _distil(row: Any, known: _Known) -> list[dict[str, Any]]:
    passages = _passages(row, row.topics, known)
    if not passages:
        return []
    needed = [number for number, chunk in enumerate(row.chunks, 1) if chunk in row.needed]
    missing = row.missing or "nothing"
    return [{"question": row.question, "passages": passages, "needed": needed, "missing": missing}]


def _profiles(row: Any, known: _Known) -> list[dict[str, Any]]:
    passages = _passages(row, row.topics, known)
    if not passages:
        return []
    table = ProfileTable.model_validate(row.dimensions)
    lines = [
        " | ".join(f"{name}: {value}" for name, value in profile.items())
        for profile in row.profiles
    ]
    return [
        {
            "dimensions": table.as_text(),
            "form": table.form(),
            "count": len(lines),
            "question": row.question,
            "passages": passages,
            "profiles": "\n".join(lines),
        }
    ]


def _ask_profiled(row: Any, known: _Known) -> list[dict[str, Any]]:
    passages = _passages(row, row.topics, known)
    if not passages:
        return []
    return [
        {
            "clue": row.clue,
            "passages": passages,
            "profile": row.profile,
            "question": row.question,
            "options": list(row.options),
            "answer": row.answer,
            "evidence": row.evidence.split(" | "),
        }
    ]


def _sound(row: Any, known: _Known) -> list[dict[str, Any]]:
    """Return a reviewed question; of a gold question that was spoilt, both."""
    values = {
        "topic": _topic(row.topic),
        "before": row.before,
        "fact": row.fact,
        "answer": row.answer,
    }
    if row.step == "sound":
        return [_decided(row.sound, "sound", **values, question=row.question)]
    twin = known.spoilt.get(row.id + _TWIN)
    if twin is None or row.reply:
        return []
    return [
        _decided(asked is row, "sound", **values, question=asked.question, id=asked.id)
        for asked in (row, twin)
    ]


def _grounding(row: Any, _: _Known) -> list[dict[str, Any]]:
    if row.answer is None or not row.good:
        return []
    values = {"passage": _plain(row.passage), "question": row.question, "answer": row.answer.text}
    return [_decided(row.answer.label == "correct", "grounded", **values, group=row.answer.label)]


# By step: the rows that give examples, labels or gold rows by their step, and what makes an example
# of one.
_EXAMPLES: Mapping[str, tuple[tuple[Any, ...], Callable[[Any, _Known], list[dict[str, Any]]]]] = {
    "chunk": ((ChunkLabel,), _chunk),
    "keyphrases": (("keyphrases",), _keyphrases),
    "ask": (("ask", "question", "unanswerable", "conditional", "reasoning"), _ask),
    "combine": (("multi_context",), _combine),
    "fact": (("question",), _fact),
    "judge": ((QuestionLabel,), _judge),
    "compare": (tuple(_CLAIMS), _compare),
    "review": (("relevance", "fits", "panel"), _review),
    "revise": (("rewrite", "compress", "split", "reword", "follow_up"), _revise),
    "reword": (("put",), _put),
    "answer": ((QuestionLabel, "answer"), _answer),
    "clues": (("clues",), _clues),
    "distil": (("distil",), _distil),
    "profiles": (("profiles",), _profiles),
    "ask_profiled": (("ask_profiled",), _ask_profiled),
    "sound": (("sound", "question"), _sound),
    "grounding": ((QuestionLabel,), _grounding),
}
