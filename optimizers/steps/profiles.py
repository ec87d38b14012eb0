"""Compiling the step ``profiles``: passages with gold profiles."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

import dspy
from pydantic import Field

from optimizers.gold import PassagesGold, Text
from optimizers.steps.base import Compiling, Instruction, Judges, Rows, Scored, Source
from optimizers.steps.examples import example_row, numbered_passages
from programs.profiles import ProfileTable
from programs.steps.profiles import STEP, profiles_of


class ProfilesGold(PassagesGold):
    """Profiles of questions that some chunks answer well, with the dimensions that they are made of."""

    step: Literal["profiles"]
    dimensions: ProfileTable
    question: Text
    profiles: tuple[dict[str, str], ...] = Field(min_length=1)

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        if profiles_of(_as_text(self), self.dimensions, len(self.profiles)) != list(self.profiles):
            yield "a profile must have one value of each dimension, and no profile may be repeated"


def _as_text(row: ProfilesGold) -> str:
    return "\n".join(" | ".join(f"{name}: {value}" for name, value in profile.items()) for profile in row.profiles)


def examples(source: Source) -> tuple[Rows, Rows]:
    """Return passages with their profiles."""
    rows: Rows = []
    for row, passages, shown in numbered_passages(source, ProfilesGold):
        inputs = {
            "dimensions": row.dimensions.as_text(),
            "question": row.question,
            "passages": shown,
            "count": str(len(row.profiles)),
            "form": row.dimensions.form(),
        }
        more: dict[str, Any] = {"table": row.dimensions, "wanted": row.profiles}
        rows.append(example_row(row, "\n\n".join(passages), inputs, profiles=_as_text(row), **more))
    return rows, rows


def metric(example: dspy.Example, output: Any, judges: Judges) -> Scored:
    """Return the mean of the share of readable profiles and of the share of values that gold profiles have too."""
    del judges
    count = len(example.wanted)
    written = profiles_of(output.profiles, example.table, count)
    values, gold = (Counter(pair for each in of for pair in each.items()) for of in (written, example.wanted))
    agreed = (values & gold).total() / gold.total()
    feedback = []
    if len(written) < count:
        feedback.append(f"{len(written)} of {count} lines hold a whole profile of known values.")
    if missed := [f"{name}: {value}" for name, value in gold - values]:
        feedback.append(f"These passages suit also {', '.join(missed)}.")
    return Scored((len(written) / count + agreed) / 2, " ".join(feedback))


INSTRUCTIONS = (
    Instruction(
        r"hold a whole profile",
        "Write one line for each profile. Go through the dimensions in their order, and for each copy its name, a "
        "colon and one of its values; put | between them. Invent no values.",
    ),
    Instruction(
        r"suit also",
        "Think of questions that the passages answer, as different as possible, and write down the profile of each.",
    ),
)

COMPILING = Compiling(STEP, examples, metric, INSTRUCTIONS, deviation=0.25, gold=ProfilesGold)
