"""Compiling the step ``clues``: chunks with gold clues."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import dspy

from optimizers.gold import Question, SearchedChunkGold, Text
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import clean_topic, example_row, gold_with_passages
from programs.features import question_features
from programs.steps.clues import STEP, tidy_clues


class CluesGold(SearchedChunkGold):
    """A clue that a chunk gives rise to."""

    step: Literal["clues"]
    topic: str
    clue: Question
    example: Text
    description: Text

    def _problems(self) -> Iterator[str]:
        if self.example.endswith("?"):
            yield "the example must be a statement"


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return chunks with all their clues."""
    by_chunk: dict[str, list[tuple[CluesGold, str]]] = {}
    for row, passage in gold_with_passages(source, CluesGold):
        by_chunk.setdefault(row.chunk, []).append((row, passage))
    rows = [_example([row for row, _ in pairs], pairs[0][1]) for pairs in by_chunk.values()]
    return rows, rows


def _example(rows: Sequence[CluesGold], passage: str) -> Any:
    inputs = {"topic": clean_topic(rows[0].topic), "passage": passage, "count": str(len(rows))}
    clues = [row.model_dump(include={"clue", "example", "description"}) for row in rows]
    return example_row(rows[0], passage, inputs, clues=clues)


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the share of the wanted clues that are well formed and find the passage.

    A clue counts in full if a search for it finds the passage first, and half if it finds it later.
    """
    language, wanted = judges.language_of(example), int(example.count)
    written, values, feedback = tidy_clues(output.clues, wanted), [], []
    if len(written) < wanted:
        feedback.append(f"It wrote {len(written)} of {wanted} clues.")
    for each in written:
        features = question_features(each.clue, example.passage, language, language)
        rank = judges.rank(each.clue, example.passage)
        problem = ""
        if not each.clue.endswith("?") or features["several"]:
            problem = f"{each.clue!r} is not one question."
        elif features["context_reference"] or features["pronouns"] or features["generic"]:
            problem = f"{each.clue!r} does not name its subject."
        elif not each.example or each.example.endswith("?"):
            problem = f"{each.clue!r} has no example that states something."
        elif rank is None:
            problem = f"A search for {each.clue!r} does not find its passage."
        values.append(0.0 if problem else 1.0 if rank == 1 else 0.5)
        feedback.append(problem)
    return Scored(sum(values) / wanted, " ".join(filter(None, feedback)))


INSTRUCTIONS = (
    Instruction(
        r"clues\.|no example",
        "For each clue write three lines: Clue, Example, Description. The clue is a question about what the passage "
        "tells, the example a made-up statement that would answer it, the description why somebody asks.",
    ),
    Instruction(
        r"does not name|does not find|not one question",
        "Write questions that somebody types into a search box who has never seen the passage. Each asks one thing and "
        "names its subject in full, as the topic does; never it, he, she, they or this.",
    ),
)

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.3, gold=CluesGold)
