"""The strategy ``gepa``: evolve instructions, written by a teacher or drawn from a pool of hand-written ones.

Small models cannot reflect on their own prompt. Without a teacher, GEPA draws from the pool of the step; each
instruction addresses one kind of problem, and the feedback of the metric decides which is next.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from optimizers.steps.base import Instruction
from optimizers.strategies.prompts import Task, prompt_strategy

_REPLAYS = 8  # metric calls per model call; most repeat known outputs


class PoolProposer:
    """GEPA's instruction proposer over a pool; it proposes the instruction for the most frequent problem."""

    def __init__(self, pool: Sequence[Instruction]) -> None:
        """Draw from a step's pool, each instruction once."""
        self._pool = list(pool)

    def is_empty(self, state: Any = None) -> bool:
        """Return whether the pool is empty, which stops GEPA."""
        del state
        return not self._pool

    def __call__(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: Sequence[str],
    ) -> dict[str, str]:
        """Return a new instruction for each component, the current one if the pool is empty."""
        proposed = {}
        for component in components_to_update:
            feedback = [str(row.get("Feedback", "")) for row in reflective_dataset.get(component, ())]
            proposed[component] = self._next(feedback) or candidate[component]
        return proposed

    def _next(self, feedback: Sequence[str]) -> str | None:
        if not self._pool:
            return None
        counts = [sum(bool(re.search(entry.fault, text)) for text in feedback) for entry in self._pool]
        return self._pool.pop(counts.index(max(counts))).text


def run(task: Task) -> None:
    """Run DSPy's GEPA."""
    pool = PoolProposer(task.compiling.instructions) if task.teacher is None else None
    optimizer = dspy.GEPA(
        metric=task.ledger.metric,
        # The ledger enforces the budget: GEPA also counts repeated calls. This stops a search that only repeats itself.
        max_metric_calls=_REPLAYS * task.budget + len(task.dev),
        reflection_minibatch_size=4,
        reflection_lm=task.teacher,
        instruction_proposer=pool,
        gepa_kwargs={"stop_callbacks": [pool.is_empty]} if pool else None,
        use_merge=False,
        num_threads=1,
        seed=task.seed,
    )
    optimizer.compile(task.student, trainset=list(task.train), valset=list(task.dev))


STRATEGY = prompt_strategy("gepa", (), "any model with our own instructions; better with a second model", run)
