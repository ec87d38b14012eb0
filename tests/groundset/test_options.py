"""Options in messages for Python, and options of recipes."""

import pytest

from groundset.options import as_parameters, for_python, recipe_options
from programs.errors import InputError, RunMismatchError
from programs.recipes import RECIPES


@pytest.mark.parametrize(
    ("message", "in_python"),
    [
        ("--size 0: input should be greater", "size 0: input should be greater"),
        ("--seed was 0, is 5; --chunk-size was 9", "seed was 0, is 5; chunk_size was 9"),
        ("needs a language model (--lm).", "needs a language model (lm)."),
        ("no store (--no-track leaves it out)", "no store (track=False leaves it out)"),
        ("see `groundset compile --lm x`, or --critic head", "see `groundset compile --lm x`, or critic head"),
        ("DOCS 5: give a path", "docs 5: give a path"),
        ("wrong: DOCS, not (DOCS)", "wrong: docs, not (docs)"),
        ("no such file or folder: /tmp/DOCS/none", "no such file or folder: /tmp/DOCS/none"),
        ("no such file: DOCS/a, my-DOCS, DOCS.md", "no such file: DOCS/a, my-DOCS, DOCS.md"),
        ("no such file: a--size.md -- or b", "no such file: a--size.md -- or b"),
    ],
)  # fmt: skip
def test_as_parameters(message: str, in_python: str) -> None:
    assert as_parameters(message) == in_python


def test_for_python_keeps_the_error_type() -> None:
    @for_python
    def refuse(name: str) -> None:
        raise RunMismatchError(f"--out {name}: other options")

    with pytest.raises(InputError, match=r"^out x: other options$") as caught:
        refuse("x")
    assert type(caught.value) is RunMismatchError


def test_recipe_options_list_their_owners() -> None:
    found = recipe_options()
    assert {name: option.owners for name, option in found.items()} == {
        name: [recipe.name for recipe in RECIPES.values() if name in recipe.options.model_fields] for name in found
    }
    assert {"evolved", "single"} <= set(found["max_rank"].owners)
