"""The strategy ``gepa``: instructions that evolve, written by a second model or drawn from our own pool.

A small model cannot reflect on its own prompt. So where no larger one is named, GEPA is given instructions that were
written beforehand, each against one kind of fault, and the faults that the metric found decide which comes next.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import dspy

from optimizers.steps.base import Instruction
from optimizers.strategies.prompts import Task, prompt_strategy

_REPLAYS = 8  # measurements for each call: of the two halves of a comparison one is known


class PoolProposer:
    """GEPA's instruction proposer over a pool: the next instruction against the fault that was found most."""

    def __init__(self, pool: Sequence[Instruction]) -> None:
        """Draw from a step's pool, each instruction once."""
        self._left = list(pool)

    def is_empty(self, state: Any = None) -> bool:
        """Return whether each instruction was drawn, which ends GEPA: it would try the present one for ever."""
        del state
        return not self._left

    def __call__(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: Sequence[str],
    ) -> dict[str, str]:
        """Return a new instruction for each component; the present one once the pool is empty."""
        proposed = {}
        for component in components_to_update:
            feedback = [str(row.get("Feedback", "")) for row in reflective_dataset.get(component, ())]
            proposed[component] = self._next(feedback) or candidate[component]
        return proposed

    def _next(self, feedback: Sequence[str]) -> str | None:
        if not self._left:
            return None
        counts = [sum(bool(re.search(entry.fault, text)) for text in feedback) for entry in self._left]
        return self._left.pop(counts.index(max(counts))).text


def run(task: Task) -> None:
    """Drive DSPy's GEPA."""
    pool = PoolProposer(task.compiling.instructions) if task.teacher is None else None
    optimizer = dspy.GEPA(
        metric=task.ledger.metric,
        # The ledger ends it: GEPA counts what it measures again, too. This is for proposals that all repeat.
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
