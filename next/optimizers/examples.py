"""Examples of the steps, made from labels and gold rows.

An example has the inputs and, as far as its row tells, the outputs of its step. Beside them it has ``id``, ``split``,
``document`` and ``language``; one of a step that decides also ``good``, and ``fault``, the output that is wrong. Steps
were fewer and smaller when the gold rows were written, so that rows of several files pool in one step.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

import dspy

from optimizers.labels import FAULTS, NOT_STATED, ChunkLabel, GoldRow, QuestionLabel, Row
from programs.evolutions import EVOLUTIONS, KINDS, SIMPLE, UNANSWERABLE
from programs.judges import AGREE, FITS, PREMISE, RELEVANT, RESOLVES, SAME_QUESTION, VIEWPOINTS
from programs.profiles import ProfileTable
from programs.recipe import LENGTHS, MEND, Passage, numbered
from programs.step import STEPS
from programs.styles import FOLLOW_UP, STYLES
from programs.text import plain

Examples = Iterator[dspy.Example]
_plain = cache(plain)  # a passage occurs in many rows
_SURE, _UNSURE = 95, 5  # confidence of an editor that a good and a bad row is kept
_CLAIMS = {"agree": AGREE, "same": SAME_QUESTION, "resolve": RESOLVES, "premise": PREMISE}
_REASONS = {  # of kinds of gold rows that have no explanation, as a judge would write it
    "": "nothing that matters is wrong",
    "fact": "a fact differs", "missing": "the second lacks what the question asks for",
    "other": "it asks or answers something else", "changed": "the second needs something that the first does not",
    "premise": "the first text does not state what the question takes for granted",
    "subject": "it is about another thing", "condition": "a condition was added or dropped",
    "unsupported": "the passage does not say this", "incomplete": "the answer lacks a part",
    "unclear": "nobody can tell what is asked", "conjoined": "it asks two things",
    "gives_away": "the question gives its answer away", "useless": "nobody would ask this",
}  # fmt: skip
_KEPT = "It names its subject, asks one clear thing, and the passage answers it."
# From the kinds of questions about one fact to those of the step `ask`.
_KINDS = {**dict.fromkeys(("amount", "place", "time", "person", "what"), "fact"), "what_if": "consequence"}
_SHORTER = "Say it in fewer words, as somebody would type it, and keep every name, number and condition."
_SEVERAL = "not clear: it asks several things; keep the first"


def examples(step: str, rows: Iterable[Row]) -> list[dspy.Example]:
    """Return the examples of a step that rows give, of all splits; rows that give none are ignored.

    Raises:
        KeyError: there is no such step.
    """
    rows = list(rows)
    texts = {row.id: _plain(row.text) for row in rows if isinstance(row, ChunkLabel)}
    build = _EXAMPLES[step]
    return list(build(rows, texts))


def spread(rows: Sequence[dspy.Example], *, seed: int = 0) -> list[dspy.Example]:
    """Return shuffled examples with good and bad ones, and within these their groups, in turn, as long as both last.

    What optimizers take from the front is then balanced; labels have three bad rows for a good one.
    """
    shuffled = list(rows)
    random.Random(seed).shuffle(shuffled)
    by_decision: dict[Any, list[dspy.Example]] = defaultdict(list)
    for row in shuffled:
        by_decision[row.get("good")].append(row)
    parts = [_in_turn(part) for _, part in sorted(by_decision.items(), key=lambda item: str(item[0]), reverse=True)]
    shortest = min(map(len, parts), default=0)
    return [row for turn in zip(*(part[:shortest] for part in parts), strict=True) for row in turn]


def _in_turn(rows: Sequence[dspy.Example]) -> list[dspy.Example]:
    groups: dict[str, list[dspy.Example]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    turns = zip_longest(*(groups[name] for name in sorted(groups)))
    return [row for turn in turns for row in turn if row is not None]


def is_complete(step: str, example: dspy.Example) -> bool:
    """Return whether an example has all outputs of its step, so that it can be a demo."""
    return all(name in example for name in STEPS[step].signature.output_fields)


def as_demo(step: str, demo: Mapping[str, Any]) -> dspy.Example:
    """Return a demo with nothing but the fields of its step, as states hold it."""
    return dspy.Example(**{name: value for name, value in demo.items() if name in STEPS[step].signature.fields})


def _example(step: str, row: Row, values: Mapping[str, Any], group: str = "", **more: Any) -> dspy.Example:
    facts = {"id": row.id, "split": row.split, "document": row.sources[0], "language": row.language, "group": group}
    inputs = [name for name in STEPS[step].signature.input_fields if name in values]
    return dspy.Example(**{**facts, **values, **more}).with_inputs(*inputs)


def _gold(rows: Iterable[Row], *steps: str) -> Iterator[Any]:
    return (row for row in rows if isinstance(row, GoldRow) and row.step in steps)


def _topic(topic: str) -> str:
    """Return a topic without repeated headings, as chunks of a run have it."""
    return " > ".join(dict.fromkeys(part.strip() for part in topic.split(" > ")))


def _passages(row: Any, topics: Sequence[str], texts: Mapping[str, str]) -> str:
    """Return the chunks of a row as a prompt shows them; empty if one is unknown."""
    if len(topics) != len(row.chunks) or any(chunk not in texts for chunk in row.chunks):
        return ""
    return numbered([Passage(texts[chunk], _topic(topic)) for chunk, topic in zip(row.chunks, topics, strict=True)])


def _chunk(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    for row in rows:
        if isinstance(row, ChunkLabel):
            fault = FAULTS.get(row.reason, "")
            values = {
                **{"topic": _topic(row.topic), "passage": texts[row.id], "reason": row.explanation or _KEPT},
                **{name: name != fault for name in ("content", "self_contained")},
                "confidence": _SURE if row.good else _UNSURE,
            }
            yield _example("chunk", row, values, row.reason, good=row.good, fault=fault)


def _judge(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    del texts
    rows = list(rows)
    right = {f"{row.id}-twin": row.answer for row in _gold(rows, "question")}
    for row in rows:
        if not isinstance(row, QuestionLabel):
            continue
        fault = FAULTS.get(row.reason, "")
        sound = row.answer is None or row.answer.label == "correct"
        values = {
            **{"topic": _topic(row.topic), "passage": _plain(row.passage), "question": row.question},
            "reason": row.explanation if row.explanation and (sound or not row.good) else _KEPT,
            **{name: name != fault for name in ("independent", "clear", "answerable")},
            "confidence": _SURE if row.good else _UNSURE,
        }
        if fault == "answerable":
            values["answer"] = NOT_STATED
        elif row.answer is not None and row.answer.label == "correct":
            values["answer"] = row.answer.text
        elif row.id in right:  # a good question, spoilt in a word or two
            values["answer"] = right[row.id]
        yield _example("judge", row, values, row.reason, good=row.good, fault=fault)


def _keyphrases(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    del texts
    for row in _gold(rows, "keyphrases"):
        values = {"topic": _topic(row.topic), "passage": _plain(row.passage), "keyphrases": list(row.keyphrases)}
        yield _example("keyphrases", row, values)


def _ask(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    """Yield questions about whole passages; those of one fact, and changed ones, with their facts as evidence."""
    for row in _gold(rows, "ask", "question", "unanswerable", "conditional", "reasoning"):
        passage = _plain(row.passage if row.step in ("ask", UNANSWERABLE) else texts.get(row.chunk, ""))
        form = row.step if row.step in EVOLUTIONS else SIMPLE
        question = row.question if form in (SIMPLE, UNANSWERABLE) else getattr(row, f"{form}_question")
        facts: dict[str, Any] = {"form": form, "kind": "fact", "question": question}
        if form == UNANSWERABLE:
            facts["answer"] = row.missing
        else:
            facts["answer"] = row.answer
            evidence = (row.evidence,) if row.step == "ask" else (row.fact,) if row.step == "question" else row.facts
            facts["evidence"] = [_plain(piece) for piece in evidence]
        if form == SIMPLE:
            facts["kind"] = _KINDS.get(row.kind, row.kind)
        if facts["kind"] not in KINDS or any(piece not in passage for piece in facts.get("evidence", ())):
            continue
        asked = {
            **{"topic": _topic(row.topic), "passage": passage, "forms": [f"{form}: {EVOLUTIONS[form].form}"]},
            **({"before": row.before} if row.step == "ask" and row.before else {}),
            "kinds": [facts["kind"], *(kind for kind in KINDS if kind != facts["kind"])],
            "answers": LENGTHS[getattr(row, "answers", "short")],
        }
        yield _example("ask", row, {**asked, **facts}, row.step)


def _combine(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    for row in _gold(rows, "multi_context"):
        topics = [part.strip() for part in row.topic.split("|")]
        topics = topics * len(row.chunks) if len(topics) == 1 else topics
        shown = _passages(row, topics, texts)
        if shown and all(_plain(fact) in " ".join(shown.split()) for fact in row.facts):
            asked = {"passages": shown, "answers": LENGTHS["short"]}
            facts = {"kind": row.kind, "question": row.question, "answer": row.answer, "evidence": list(row.facts)}
            yield _example("combine", row, {**asked, **facts}, row.kind)


def _fact(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    for row in _gold(rows, "question"):
        if row.kind != "yes_no":
            values = {"topic": _topic(row.topic), "fact": row.fact, "answer": row.answer, "question": row.question}
            yield _example("fact", row, values, row.kind, passage=texts.get(row.chunk, row.fact))


def _compare(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    del texts
    for row in _gold(rows, *_CLAIMS):
        values = {
            **{"claim": _CLAIMS[row.step], "first": row.first, "second": row.second, "holds": row.alike},
            **({"question": row.question} if row.step == "agree" else {}),
            "reason": _REASONS.get(row.kind, row.kind),
        }
        yield _example("compare", row, values, row.step, good=row.alike, fault="" if row.alike else "holds")


def _review(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    for row in _gold(rows, "relevance", "fits", "panel"):
        values: dict[str, Any] = {"question": row.question}
        if row.step == "relevance":
            good, values["criterion"], values["passage"] = row.relevant, RELEVANT, texts.get(row.chunk, "")
        elif row.step == "fits":
            good, values["criterion"] = row.fits, f"{FITS}{row.profile}"
            values |= {"passage": _passages(row, row.topics, texts), "answer": row.answer}
        else:
            good, values["criterion"] = row.approved, VIEWPOINTS[row.viewpoint]
            values |= {"passage": row.passage, "answer": row.answer, "opinions": row.opinions}
        if values["passage"]:
            reason = getattr(row, "explanation", "") or _REASONS.get(getattr(row, "kind", ""), "it is not met")
            values |= {"reason": reason, "approved": good}
            yield _example("review", row, values, row.step, good=good, fault="" if good else "approved")


def _revise(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    for row in _gold(rows, "rewrite", "compress", "split", "reword", "follow_up"):
        chunk = row.chunk or next(iter(row.chunks), "")
        values: dict[str, Any] = {"topic": _topic(getattr(row, "topic", "")), "question": row.question}
        values |= {"passage": text} if (text := texts.get(chunk, "")) and row.step != "reword" else {}
        values["answer"] = values["new_answer"] = getattr(row, "answer", "")
        match row.step:
            case "rewrite":
                values |= {"change": MEND.format(fault=row.feedback.rstrip(".")), "new_question": row.better_question}
            case "compress":
                values |= {"change": _SHORTER, "new_question": row.short_question}
            case "split":
                values |= {"change": MEND.format(fault=_SEVERAL), "new_question": row.questions[0]}
            case "reword":
                change = STYLES[row.kind].change.replace("{persona}", row.persona)
                values |= {"change": change, "examples": list(row.examples), "new_question": row.wording}
            case _:
                conversation = f"User: {row.question} Assistant: {row.answer}"
                values |= {"question": row.stand_alone_question, "answer": row.new_answer}
                values |= {"new_answer": row.new_answer, "new_question": row.follow_up, "passage": row.passage}
                values["change"] = FOLLOW_UP.format(conversation=conversation)
        if not values["answer"]:  # the row does not tell; the change does not concern it
            del values["answer"], values["new_answer"]
        yield _example("revise", row, values, row.step, style=row.kind if row.step == "reword" else row.step)


def _answer(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    """Yield questions with their answers, one in six "not stated": compiled on more, a model refused good questions."""
    del texts
    for row in rows:
        if isinstance(row, QuestionLabel):
            answer = row.answer.text if row.answer is not None and row.answer.label == "correct" and row.good else ""
            answer = NOT_STATED if row.reason == "unanswerable" else answer
            group = "label" if answer != NOT_STATED else NOT_STATED
        elif isinstance(row, GoldRow) and row.step == "answer" and getattr(row, "kind", "") != "yes_no":
            answer = str(getattr(row, "answer", ""))
            group = f"gold {row.language}" if answer != NOT_STATED else NOT_STATED
        else:
            continue
        if answer:
            asked: Any = row
            values = {"topic": _topic(asked.topic), "passage": _plain(asked.passage), "question": asked.question}
            yield _example("answer", row, {**values, "answer": answer}, group)


def _clues(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    by_chunk: dict[str, list[Any]] = defaultdict(list)
    for row in _gold(rows, "clues"):
        if row.chunk in texts:
            by_chunk[row.chunk].append(row)
    for chunk, found in by_chunk.items():
        clues = [{"clue": row.clue, "example": row.example, "description": row.description} for row in found]
        values = {"topic": _topic(found[0].topic), "passage": texts[chunk], "count": len(found), "clues": clues}
        yield _example("clues", found[0], values)


def _distil(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    for row in _gold(rows, "distil"):
        if shown := _passages(row, row.topics, texts):
            needed = [number for number, chunk in enumerate(row.chunks, 1) if chunk in row.needed]
            missing = row.missing or "nothing"
            values = {"question": row.question, "passages": shown, "needed": needed, "missing": missing}
            yield _example("distil", row, values)


def _profiles(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    for row in _gold(rows, "profiles"):
        if shown := _passages(row, row.topics, texts):
            table = ProfileTable.model_validate(row.dimensions)
            values = {
                **{"dimensions": table.as_text(), "question": row.question, "passages": shown},
                **{"count": len(row.profiles), "form": table.form()},
                "profiles": "\n".join(" | ".join(f"{name}: {each[name]}" for name in each) for each in row.profiles),
            }
            yield _example("profiles", row, values)


def _ask_profiled(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    for row in _gold(rows, "ask_profiled"):
        if shown := _passages(row, row.topics, texts):
            values = {
                **{"clue": row.clue, "passages": shown, "profile": row.profile, "question": row.question},
                **{"options": list(row.options), "answer": row.answer, "evidence": row.evidence.split(" | ")},
            }
            yield _example("ask_profiled", row, values)


def _sound(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    """Yield reviewed questions, and gold questions with the spoilt version that some have."""
    del texts
    rows = list(rows)
    spoilt = {row.id: row for row in rows if isinstance(row, QuestionLabel) and row.id.endswith("-twin")}
    for row in _gold(rows, "sound", "question"):
        values = {"topic": _topic(row.topic), "before": row.before, "fact": row.fact, "answer": row.answer}
        if row.step == "sound":
            questions = [(row.id, row.question, row.sound)]
        else:
            twin = None if row.reply else spoilt.get(f"{row.id}-twin")
            questions = [(row.id, row.question, True), (twin.id, twin.question, False)] if twin else []
        for name, question, good in questions:
            decided = {"question": question, "sound": good, "id": name}
            yield _example("sound", row, {**values, **decided}, row.step, good=good, fault="" if good else "sound")


def _grounding(rows: Iterable[Row], texts: Mapping[str, str]) -> Examples:
    del texts
    for row in rows:
        if isinstance(row, QuestionLabel) and row.answer is not None and row.good:
            good = row.answer.label == "correct"
            values = {"passage": _plain(row.passage), "question": row.question, "answer": row.answer.text}
            decided = {"good": good, "fault": "" if good else "grounded"}
            yield _example("grounding", row, {**values, "grounded": good}, row.answer.label, **decided)


_EXAMPLES: Mapping[str, Callable[[Iterable[Row], Mapping[str, str]], Examples]] = {
    "chunk": _chunk, "keyphrases": _keyphrases, "ask": _ask, "combine": _combine, "fact": _fact, "judge": _judge,
    "compare": _compare, "review": _review, "revise": _revise, "answer": _answer, "clues": _clues, "distil": _distil,
    "profiles": _profiles, "ask_profiled": _ask_profiled, "sound": _sound, "grounding": _grounding,
}  # fmt: skip
