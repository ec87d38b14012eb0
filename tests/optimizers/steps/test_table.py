"""The table of steps that can be compiled."""

import pkgutil
from itertools import chain
from typing import get_args

from optimizers import steps
from optimizers.steps import COMPILABLE, FITTED
from programs.steps import STEPS

SHARED = {"base", "examples", "worth"}


def test_table_has_all_steps_and_modules() -> None:
    modules = {module.name for module in pkgutil.iter_modules(steps.__path__)}
    assert modules - SHARED == set(COMPILABLE) == set(STEPS)
    assert all(STEPS[name] is compiling.step for name, compiling in COMPILABLE.items())


def test_steps_have_distinct_instructions() -> None:
    for name, compiling in COMPILABLE.items():
        if compiling.step.finetuned:  # only weights are compiled
            continue
        texts = [instruction.text for instruction in compiling.instructions]
        assert len(set(texts)) == len(texts) >= 2, name
        assert compiling.step.signature.instructions not in texts, name


def test_fitted_steps_assign_each_bad_reason_to_one_output() -> None:
    deciding = {name for name, compiling in COMPILABLE.items() if compiling.step.any_critic}
    assert set(FITTED) == deciding - {"agree", "fits", "premise", "relevance", "resolve"}
    for name, fitting in FITTED.items():
        assert set(fitting.outputs) <= set(STEPS[name].signature.output_fields)
        if len(fitting.outputs) > 1:
            reasons = set(get_args(fitting.labels.model_fields["reason"].annotation)) - {"ok"}
            assert sorted(chain.from_iterable(fitting.faults.values())) == sorted(reasons)
