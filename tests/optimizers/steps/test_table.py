"""The table of steps that can be compiled, beside that of all steps."""

import pkgutil
from typing import get_args

from optimizers import steps
from optimizers.steps import COMPILABLE, FITTED
from programs.steps import STEPS

SHARED = {"base", "examples", "worth"}


def test_each_step_that_can_be_compiled_is_a_step_with_a_module_of_its_name() -> None:
    modules = {module.name for module in pkgutil.iter_modules(steps.__path__)}
    assert modules - SHARED == set(COMPILABLE)
    assert all(STEPS[name] is compiling.step for name, compiling in COMPILABLE.items())


def test_each_has_instructions_to_draw_from() -> None:
    for name, compiling in COMPILABLE.items():
        if compiling.step.finetuned:  # its weights are trained, no instruction is looked for
            continue
        texts = [instruction.text for instruction in compiling.instructions]
        assert len(set(texts)) == len(texts) >= 2, name
        assert compiling.step.signature.instructions not in texts, name


def test_every_step_can_be_compiled() -> None:
    assert set(COMPILABLE) == set(STEPS)


def test_steps_that_decide_by_what_words_show_can_be_fitted_and_their_faults_are_outputs_and_reasons() -> None:
    deciding = {
        name for name, compiling in COMPILABLE.items() if compiling.step.decides and not compiling.step.finetuned
    }
    assert set(FITTED) == deciding - {"agree"}
    for name, fitting in FITTED.items():
        assert set(fitting.outputs) <= set(STEPS[name].signature.output_fields)
        if len(fitting.outputs) > 1:
            reasons = set(get_args(fitting.labels.model_fields["reason"].annotation)) - {"ok"}
            told = [reason for found in fitting.faults.values() for reason in found]
            assert sorted(told) == sorted(reasons), "each bad reason blames one output"
