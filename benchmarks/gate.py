"""Count what the gate of `groundset roundtrip --baseline` stops: of 60 systems that find as much as
before, and of 60 each that no longer find 10, 20 and 40 % of the passages.

Questions stand in documents of three each, in two languages and three evolutions. A passage has
rank 1 with probability 0.6, 2 to 5 with 0.2, 6 to 10 with 0.1, else it is not found; each new
system draws the ranks of a fifth of the questions anew.
"""

import numpy as np

from groundset.evaluation import MEASURES
from groundset.programs.types import Chunk, Retrieval, Sample
from groundset.retrieval.gate import gate

SYSTEMS, LOSSES = 60, (0.0, 0.1, 0.2, 0.4)
RANKS, SHARES = (*range(1, 11), 0), (0.6, *[0.05] * 4, *[0.02] * 5, 0.1)


def sample(number: int, chance: np.random.Generator) -> Sample:
    """Return a question with what makes strata."""
    place = {"doc_id": str(number // 3), "path": str(number // 3), "title": "", "text": "x"}
    chunk = Chunk(chunk_id=str(number), start=0, end=1, **place)
    return Sample(
        id=str(number),
        question="",
        answer="",
        evolution=str(chance.choice(["simple", "conditional", "reasoning"])),
        language=str(chance.choice(["en", "de"], p=[0.75, 0.25])),
        contexts=(chunk,),
        retrieval_gt=((str(number),),),
        retrieval=Retrieval(rank=1, retrieved_id="", retrieved_content="", score=1),
    )


def values(ranks: np.ndarray) -> dict[str, np.ndarray]:
    """Return each measure of each question."""
    found = [[int(rank) or None] for rank in ranks]
    return {name: np.array([measure(each) for each in found]) for name, measure in MEASURES.items()}


def main() -> None:
    """Print how many systems the gate stops, by the number of questions, the loss and the
    measure that decides.
    """
    print("measure, questions: stopped of", SYSTEMS, "for losses of", LOSSES)
    for measure in MEASURES:
        for count in (12, 30, 120):
            print(measure, count, *(stopped(measure, count, loss) for loss in LOSSES))


def stopped(measure: str, count: int, loss: float) -> int:
    """Return how many systems the gate stops."""
    chance, found = np.random.default_rng(count), 0
    for _ in range(SYSTEMS):
        samples = [sample(number, chance) for number in range(count)]
        old = chance.choice(RANKS, count, p=SHARES)
        drawn = chance.random(count) < 0.2
        new = np.where(drawn, chance.choice(RANKS, count, p=SHARES), old)
        new[chance.permutation(count)[: round(loss * count)]] = 0
        found += bool(gate(samples, values(old), values(new), measure).losses)
    return found


if __name__ == "__main__":
    main()
