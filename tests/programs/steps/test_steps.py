"""The table of steps, with their signatures and demos."""

import pkgutil

import signatures
from groundset.data_files import data_path
from programs import steps
from programs.demos import Demos
from programs.steps import STEPS


def test_each_step_has_a_module_and_a_signature() -> None:
    for package in (steps, signatures):
        assert {module.name for module in pkgutil.iter_modules(package.__path__)} - {"base"} == set(STEPS)
    for name, step in STEPS.items():
        assert (step.name, step.signature.__module__) == (name, f"signatures.{name}")


def test_every_step_with_a_prompt_of_its_own_has_demos(demos: Demos) -> None:
    files = {file.stem for file in data_path("demos").iterdir()}
    assert files == set(demos) >= {name for name, step in STEPS.items() if not step.decides or step.gives_reasons}
    assert all(demos.values())
