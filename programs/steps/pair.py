"""Step ``pair``: writes a question about a sentence and marks the words that answer it."""

from collections.abc import Sequence

from programs.steps.base import Step
from signatures.pair import AskPair

_MAX_SENTENCES = 2
_MAX_CHARACTERS = 240

STEP = Step("pair", AskPair, limits={"max_tokens": 112, "stop": ["\n\n"], "temperature": 0.0})


def inputs_of(topic: str, before: Sequence[str], fact: str) -> dict[str, str]:
    """Return the inputs for a fact, with one or two sentences before it, which may name what its pronouns refer to."""
    kept = [sentence for sentence in before if not sentence.startswith("#")][-_MAX_SENTENCES:]
    while len(kept) > 1 and sum(map(len, kept)) > _MAX_CHARACTERS:
        del kept[0]
    return {"topic": topic, "before": " ".join(kept), "fact": fact}
