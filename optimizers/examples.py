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
from groundset.programs.forms import EVOLUTIONS, FOLLOW_UP, KINDS, SIMPLE, STYLES, UNANSWERABLE
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
    rows, (kinds, build) = list(rows), _EXAMPLES[step]
    known = _Known({}, {}, {}, defaultdict(list))
    for row in rows:
        if isinstance(row, ChunkLabel):
            known.texts[row.id] = row.text
        elif isinstance(row, QuestionLabel) and row.id.endswith(_TWIN):
            known.spoilt[row.id] = row
        elif isinstance(row, GoldRow):
            known.answers[row.id + _TWIN] = getattr(row, "answer", "")
            known.clues[row.chunk if row.step == "clues" else ""].append(row)
    signature, found = STEPS[step].signature, []
    for row in rows:
        kind = row.step if isinstance(row, GoldRow) else type(row)
        for values in build(row, known) if kind in kinds else ():
            facts = {
                "id": row.id,
                "split": row.split,
                "document": row.sources[0],
                "language": row.language,
            }
            inputs = [name for name in signature.input_fields if name in values]
            found.append(
                dspy.Example(**{**facts, "group": str(kind), **values}).with_inputs(*inputs)
            )
    return found


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
    texts = (_plain(known.texts[chunk]) for chunk in row.chunks)
    return numbered(
        [Passage(text, _topic(topic)) for text, topic in zip(texts, topics, strict=True)]
    )


def _passage(row: Any, known: _Known) -> str:
    return _plain(known.texts.get(row.chunk, ""))


def _labelled(row: Any, parts: Sequence[str]) -> dict[str, Any]:
    """Return the decisions of a label."""
    fault = FAULTS.get(row.reason, "")
    confidence = _SURE if row.good else _UNSURE
    reason = row.explanation or _REFUSED.get(row.reason, _KEPT)
    facts = {"reason": reason, "good": row.good, "fault": fault, "group": row.reason}
    return {
        "topic": _topic(row.topic),
        **facts,
        **{name: name != fault for name in parts},
        "confidence": confidence,
    }


def _decided(good: bool, output: str, **more: Any) -> dict[str, Any]:
    return {output: good, "good": good, "fault": "" if good else output, **more}


def _chunk(row: Any, _: _Known) -> list[dict[str, Any]]:
    return [{"passage": _plain(row.text), **_labelled(row, ("content", "self_contained"))}]


def _judge(row: Any, known: _Known) -> list[dict[str, Any]]:
    values = {"passage": _plain(row.passage), "question": row.question}
    values |= _labelled(row, ("independent", "clear", "answerable"))
    right = row.answer is not None and row.answer.label == "correct"
    if row.good and row.answer is not None and not right:
        values["reason"] = _KEPT  # the explanation is about the answer
    if values["fault"] == "answerable":
        values["answer"] = NOT_STATED
    elif right or row.id in known.answers:
        values["answer"] = row.answer.text if right else known.answers[row.id]
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
    question = row.question if form in (SIMPLE, UNANSWERABLE) else getattr(row, f"{form}_question")
    facts: dict[str, Any] = {"form": form, "kind": "fact", "question": question}
    if form == SIMPLE:
        facts["kind"] = _KINDS.get(row.kind, row.kind)
    if form == UNANSWERABLE:
        facts["answer"] = row.missing
    else:
        evidence = (
            (row.evidence,)
            if row.step == "ask"
            else (row.fact,)
            if row.step == "question"
            else row.facts
        )
        facts |= {"answer": row.answer, "evidence": [_plain(piece) for piece in evidence]}
    if facts["kind"] not in KINDS or any(
        piece not in passage for piece in facts.get("evidence", ())
    ):
        return []
    asked = {
        "topic": _topic(row.topic),
        "passage": passage,
        "forms": [f"{form}: {EVOLUTIONS[form].form}"],
    }
    if row.step == "ask" and row.before:
        asked["before"] = row.before
    asked["kinds"] = ", ".join([facts["kind"], *(kind for kind in KINDS if kind != facts["kind"])])
    return [{**asked, "answers": LENGTHS[getattr(row, "answers", "short")], **facts}]


def _combine(row: Any, known: _Known) -> list[dict[str, Any]]:
    topics = row.topic.split("|")
    shown = _passages(row, topics * len(row.chunks) if len(topics) == 1 else topics, known)
    if not shown or any(_plain(fact) not in " ".join(shown.split()) for fact in row.facts):
        return []
    written = {
        "kind": row.kind,
        "question": row.question,
        "answer": row.answer,
        "evidence": list(row.facts),
    }
    return [{"passages": shown, "answers": LENGTHS["short"], **written, "group": row.kind}]


def _fact(row: Any, known: _Known) -> list[dict[str, Any]]:
    values = {
        "topic": _topic(row.topic),
        "fact": row.fact,
        "answer": row.answer,
        "question": row.question,
    }
    return (
        []
        if row.kind == "yes_no"
        else [{**values, "passage": _passage(row, known) or row.fact, "group": row.kind}]
    )


def _compare(row: Any, _: _Known) -> list[dict[str, Any]]:
    values = {"claim": _CLAIMS[row.step], "first": row.first, "second": row.second}
    values |= {"question": row.question} if row.step == "agree" else {}
    return [_decided(row.alike, "holds", **values, reason=_REASONS.get(row.kind, row.kind))]


def _review(row: Any, known: _Known) -> list[dict[str, Any]]:
    if row.step == "relevance":
        good, values = row.relevant, {"criterion": RELEVANT, "passage": _passage(row, known)}
    elif row.step == "fits":
        shown = _passages(row, row.topics, known)
        good, values = (
            row.fits,
            {"criterion": f"{FITS}{row.profile}", "passage": shown, "answer": row.answer},
        )
    else:
        good, values = (
            row.approved,
            {"criterion": VIEWPOINTS[row.viewpoint], "passage": row.passage},
        )
        values |= {"answer": row.answer, "opinions": row.opinions}
    reason = getattr(row, "explanation", "") or _REASONS.get(
        getattr(row, "kind", ""), "it is not met"
    )
    return (
        [_decided(good, "approved", **values, question=row.question, reason=reason)]
        if values["passage"]
        else []
    )


def _revise(row: Any, known: _Known) -> list[dict[str, Any]]:
    passage = _plain(known.texts.get(row.chunk or next(iter(row.chunks), ""), ""))
    values: dict[str, Any] = {"question": row.question, "style": row.step}
    values |= {"topic": _topic(row.topic)} if getattr(row, "topic", "") else {}
    values |= {"passage": passage} if passage and row.step != "reword" else {}
    if getattr(row, "answer", ""):  # else the row does not tell; the change does not concern it
        values |= {"answer": row.answer, "new_answer": row.answer}
    if row.step == "rewrite":
        values |= {
            "change": MEND.format(fault=row.feedback.rstrip(".")),
            "new_question": row.better_question,
        }
    elif row.step == "compress":
        values |= {"change": _SHORTER, "new_question": row.short_question}
    elif row.step == "split":
        values |= {"change": MEND.format(fault=_SEVERAL), "new_question": row.questions[0]}
    elif row.step == "reword":
        change = STYLES[row.kind].change.replace("{persona}", row.persona)
        values |= {
            "change": change,
            "examples": list(row.examples),
            "new_question": row.wording,
            "style": row.kind,
        }
    else:
        conversation = f"User: {row.question} Assistant: {row.answer}"
        values |= {
            "question": row.stand_alone_question,
            "answer": row.new_answer,
            "new_answer": row.new_answer,
        }
        values |= {"new_question": row.follow_up, "passage": _plain(row.passage)}
        values["change"] = FOLLOW_UP.format(conversation=conversation)
    return [values]


def _answer(row: Any, _: _Known) -> list[dict[str, Any]]:
    """Return a question with its answer, one in six "not stated": compiled on more, a model refused
    good questions.
    """
    if isinstance(row, QuestionLabel):
        right = row.good and row.answer is not None and row.answer.label == "correct"
        answer = (
            row.answer.text
            if right and row.answer
            else NOT_STATED
            if row.reason == "unanswerable"
            else ""
        )
    else:
        answer = "" if row.kind == "yes_no" else row.answer
    group = NOT_STATED if answer == NOT_STATED else f"{isinstance(row, GoldRow)} {row.language}"
    asked = {"topic": _topic(row.topic), "passage": _plain(row.passage), "question": row.question}
    return [{**asked, "answer": answer, "group": group}] if answer else []


def _clues(row: Any, known: _Known) -> list[dict[str, Any]]:
    """Return all clues of a chunk, at its first row."""
    found = known.clues[row.chunk]
    clues = [
        {"clue": each.clue, "example": each.example, "description": each.description}
        for each in found
    ]
    values = {
        "topic": _topic(row.topic),
        "passage": _passage(row, known),
        "count": len(found),
        "clues": clues,
    }
    return [values] if row is found[0] and values["passage"] else []


def _distil(row: Any, known: _Known) -> list[dict[str, Any]]:
    needed = [number for number, chunk in enumerate(row.chunks, 1) if chunk in row.needed]
    asked = {"question": row.question, "passages": _passages(row, row.topics, known)}
    return (
        [{**asked, "needed": needed, "missing": row.missing or "nothing"}]
        if asked["passages"]
        else []
    )


def _profiles(row: Any, known: _Known) -> list[dict[str, Any]]:
    table = ProfileTable.model_validate(row.dimensions)
    asked = {"dimensions": table.as_text(), "form": table.form(), "count": len(row.profiles)}
    asked |= {"question": row.question, "passages": _passages(row, row.topics, known)}
    lines = (
        " | ".join(f"{name}: {value}" for name, value in profile.items())
        for profile in row.profiles
    )
    return [{**asked, "profiles": "\n".join(lines)}] if asked["passages"] else []


def _ask_profiled(row: Any, known: _Known) -> list[dict[str, Any]]:
    asked = {
        "clue": row.clue,
        "passages": _passages(row, row.topics, known),
        "profile": row.profile,
    }
    written = {"question": row.question, "options": list(row.options), "answer": row.answer}
    return (
        [{**asked, **written, "evidence": row.evidence.split(" | ")}] if asked["passages"] else []
    )


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
    pair = ((row.id, row.question), (twin.id, twin.question))
    return [
        _decided(name == row.id, "sound", **values, question=asked, id=name) for name, asked in pair
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
    "answer": ((QuestionLabel, "answer"), _answer),
    "clues": (("clues",), _clues),
    "distil": (("distil",), _distil),
    "profiles": (("profiles",), _profiles),
    "ask_profiled": (("ask_profiled",), _ask_profiled),
    "sound": (("sound", "question"), _sound),
    "grounding": ((QuestionLabel,), _grounding),
}
