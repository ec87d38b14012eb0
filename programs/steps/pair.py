"""The step ``pair``: asks about a sentence what is worth asking, and says which words of it are the answer."""

from collections.abc import Sequence

from programs.steps.base import Step
from signatures.pair import AskPair

_BEFORE = 2  # sentences
_LONGEST_BEFORE = 240  # characters

STEP = Step("pair", AskPair, limits={"max_tokens": 112, "stop": ["\n\n"], "temperature": 0.0})


def shown(topic: str, before: Sequence[str], fact: str) -> dict[str, str]:
    """Return what a model is shown of a fact: what is said just before it stands beside it.

    Two sentences, or one where two are long: they name what the fact calls it, she or the company.
    """
    kept = [sentence for sentence in before if not sentence.startswith("#")][-_BEFORE:]
    while len(kept) > 1 and sum(map(len, kept)) > _LONGEST_BEFORE:
        del kept[0]
    return {"topic": topic, "before": " ".join(kept), "fact": fact}
