"""The table of steps that can be compiled, beside that of all steps."""

import pkgutil

from optimizers import steps
from optimizers.steps import COMPILABLE
from programs.steps import STEPS

SHARED = {"base", "examples", "worth"}


def test_each_step_that_can_be_compiled_is_a_step_with_a_module_of_its_name() -> None:
    modules = {module.name for module in pkgutil.iter_modules(steps.__path__)}
    assert modules - SHARED == set(COMPILABLE)
    assert all(STEPS[name] is compiling.step for name, compiling in COMPILABLE.items())


def test_each_has_instructions_to_draw_from() -> None:
    for name, compiling in COMPILABLE.items():
        texts = [instruction.text for instruction in compiling.instructions]
        assert len(set(texts)) == len(texts) >= 2, name
        assert compiling.step.signature.instructions not in texts, name
