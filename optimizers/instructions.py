"""A pool of instructions for each step, in our own words, and a proposer that draws from it.

A small model cannot reflect on its own prompt. So where no larger one is named, GEPA is given instructions that were
written beforehand, each against one kind of fault, and the faults that the metric found decide which comes next.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Variant(NamedTuple):
    """An instruction, and a pattern of the feedback that calls for it."""

    fault: str
    text: str


POOL: Mapping[str, tuple[Variant, ...]] = {
    "keyphrases": (
        Variant(
            r"word for word",
            "Copy three to five short phrases from the passage exactly as they stand, separated by semicolons. Choose "
            "names, dates, amounts and technical terms.",
        ),
        Variant(
            r"phrases; three",
            "Write exactly four phrases of the passage, separated by semicolons. Each is a name, a date, an amount or "
            "a technical term of one to five words.",
        ),
        Variant(
            r"twice",
            "List four different things that the passage states and that a quiz could ask for: who, when, how many, "
            "what it is called. Copy the words and separate them by semicolons.",
        ),
    ),
    "question": (
        Variant(
            r"name the subject|pronoun|names nothing|points at",
            "Write one question whose answer is exactly the given answer. Take the subject's full name from the topic "
            "or the fact. Never write it, he, she, they, this passage or this text.",
        ),
        Variant(
            r"well formed|well-formed|question word|no question",
            "Write one short, correct question that opens with a question word. Its answer is exactly the given "
            "answer, and it names its subject in full.",
        ),
        Variant(
            r"gives its answer away",
            "Hide the given answer and ask for it. The question names everything else that the fact says, so that "
            "only the answer is missing.",
        ),
        Variant(
            r"another kind",
            "Look at the answer first: ask who for a person, when or in which year for a time, where for a place, how "
            "many or how much for an amount, what or which for anything else. Name the subject in full.",
        ),
        Variant(
            r"Searching",
            "Write a quiz question that can have only one answer, the given one. Name the subject in full and one more "
            "detail of the fact that belongs to nothing else.",
        ),
    ),
    "reasoning": (
        Variant(r"no kind of thing", "Name the kind of thing in one common noun, such as bridge, painter or statute."),
        Variant(
            r"does not speak",
            "Say what the named thing is, with the word that the fact itself uses for it: one or two words in lower "
            "case.",
        ),
        Variant(r"", "Complete in one or two words: the named thing is a kind of"),
    ),
    "conditional": (
        Variant(
            r"words of the condition",
            "Write the condition word for word, then a comma, then the question word for word.",
        ),
        Variant(
            r"words of the question",
            "Put the condition before the question and join them with a comma. Change nothing else.",
        ),
        Variant(
            r"well formed|well-formed|question word",
            "Ask the same question of somebody who first hears the condition: condition, comma, question. It must be "
            "one correct sentence that ends with a question mark.",
        ),
    ),
    "compress": (
        Variant(
            r"no shorter",
            "Say the question in at most twelve words. Drop what the asker need not say; keep names and numbers.",
        ),
        Variant(
            r"lost",
            "Shorten the question a little: leave out filler such as was it that, in order to, of the following. Keep "
            "every name, number and condition as it stands.",
        ),
        Variant(
            r"well formed|well-formed",
            "Write the question as a person would type it into a search box, short and correct.",
        ),
    ),
    "rewrite": (
        Variant(
            r"repeats",
            "The question was refused. Write another one about the same fact that does what the feedback asks. It "
            "names its subject in full and has the given answer.",
        ),
        Variant(
            r"name the subject|pronoun|points at|names nothing",
            "Replace every it, he, she, they and every mention of the passage by the full name from the topic or the "
            "fact. The question keeps the given answer and does not contain it.",
        ),
        Variant(
            r"well formed|well-formed|question word|no question",
            "Write the question anew in one short, correct sentence that opens with a question word. Its answer is "
            "the given one; it names its subject in full.",
        ),
        Variant(
            r"gives its answer away", "Ask for the given answer without using its words, and name the subject in full."
        ),
    ),
    "answer": (
        Variant(
            r"does not say",
            "Answer only with words that the passage itself uses for exactly this question. If it asks for anything "
            'the passage does not tell, write "not stated".',
        ),
        Variant(
            r"answers it",
            "The passage usually holds the answer: find the sentence that speaks of what the question asks and copy "
            'the words that answer it. Write "not stated" only if there is no such sentence.',
        ),
        Variant(
            r"Copy the words|not '",
            "Copy the shortest words of the passage that answer the question: a name, a date, an amount, a phrase. No "
            'sentence. Write "not stated" if the passage does not say.',
        ),
    ),
    "chunk": (
        Variant(
            r"bad",
            "A reader sees only this passage. Is it running text with facts, about things that it names? Lists of "
            "sources, menus, captions and torn-off fragments are not fit.",
        ),
        Variant(r"good", "Would this passage alone let somebody write a quiz question with one clear answer?"),
    ),
    "judge": (
        Variant(
            r"bad",
            "Be strict. A question is fit only if it names its subject, is one correct sentence, and the passage "
            "states its answer.",
        ),
        Variant(
            r"good",
            "Imagine the question on a card without the passage. Is it clear what is asked, and does the passage give "
            "the answer?",
        ),
    ),
}


class PoolProposer:
    """GEPA's instruction proposer over the pool: the next instruction against the fault that was found most."""

    def __init__(self, step: str) -> None:
        """Draw from the pool of a step."""
        self._left = list(POOL[step])

    def __call__(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: Sequence[str],
    ) -> dict[str, str]:
        """Return a new instruction for each component; the present one once the pool is empty."""
        proposed = {}
        for component in components_to_update:
            told = [str(row.get("Feedback", "")) for row in reflective_dataset.get(component, ())]
            proposed[component] = self._next(told) or candidate[component]
        return proposed

    def _next(self, feedback: Sequence[str]) -> str | None:
        if not self._left:
            return None
        counts = [sum(bool(re.search(variant.fault, told)) for told in feedback) for variant in self._left]
        return self._left.pop(counts.index(max(counts))).text
