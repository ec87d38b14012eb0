"""Count what the gate of `groundset roundtrip --baseline` stops: of 60 systems that find as much as
before, and of 60 each that no longer find the passages of 10, 20 and 40 % of the questions.

Questions stand in documents of three each, in two languages and three evolutions. A passage has
rank 1 with probability 0.6, 2 to 5 with 0.2, 6 to 10 with 0.1, else it is not found; each new
system draws the ranks of a fifth of the questions anew.
"""

from itertools import product
from typing import Any

import numpy as np

from groundset.programs.types import Chunk, Sample
from groundset.retrieval.gate import gate
from groundset.searching import MEASURES, values_of

SYSTEMS, LOSSES = 60, (0.0, 0.1, 0.2, 0.4)
RANKS, SHARES = (*range(1, 11), None), (0.6, *[0.05] * 4, *[0.02] * 5, 0.1)


def sample(number: int, chance: np.random.Generator) -> Sample:
    """Return a question with what makes strata."""
    place: dict[str, Any] = dict.fromkeys(("doc_id", "path"), str(number // 3))
    strata: dict[str, Any] = {
        "evolution": chance.choice(["simple", "conditional", "reasoning"]),
        "language": chance.choice(["en", "de"], p=[0.75, 0.25]),
        "contexts": (Chunk.model_construct(**place),),
    }
    return Sample.model_construct(**strata)


def stopped(measure: str, count: int, loss: float) -> int:
    """Return how many systems the gate stops by a measure of as many questions."""
    chance, found = np.random.default_rng(count), 0
    for _ in range(SYSTEMS):
        samples = [sample(number, chance) for number in range(count)]
        old = chance.choice(RANKS, count, p=SHARES)
        is_drawn = chance.random(count) < 0.2
        new = np.where(is_drawn, chance.choice(RANKS, count, p=SHARES), old)
        new[chance.permutation(count)[: round(loss * count)]] = None
        before, after = (values_of([[rank] for rank in ranks]) for ranks in (old, new))
        found += bool(gate(samples, before, after, measure).losses)
    return found


if __name__ == "__main__":
    print("measure, questions: stopped of", SYSTEMS, "for losses of", LOSSES)
    for measure, count in product(MEASURES, (12, 30, 120)):
        print(measure, count, *(stopped(measure, count, loss) for loss in LOSSES))
