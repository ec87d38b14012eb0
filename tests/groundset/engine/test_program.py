"""Which code a run depends on, found out in a copy of it that may be changed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import grimp
import pytest

from groundset.engine.program import WATCHING, code_modules

ROOT = Path(__file__).parents[3]
PACKAGES = ("signatures", "programs", "optimizers", "groundset")
HASH = "import sys; from groundset.engine.program import program_hash; print(program_hash(sys.argv[1], sys.argv[1:]))"

Hash = Callable[..., str]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Laid out as in an installed wheel: packages side by side, data inside groundset."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    data = tmp_path / "groundset" / "data"
    (data / "compiled" / "head").mkdir(parents=True)
    (data / "demos").mkdir()
    (data / "compiled" / "head" / "judge.json").write_text("{}")
    return tmp_path


@pytest.fixture
def hash_of(copy: Path) -> Hash:
    def hash_of(*recipes: str) -> str:
        """Return the hash for the first of some recipes."""
        command = [sys.executable, "-c", HASH, *(recipes or ("evolved",))]
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        ran = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    return hash_of


def add(copy: Path, file: str, text: str) -> None:
    path = copy / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((path.read_text(encoding="utf-8") if path.exists() else "") + text, encoding="utf-8")


@pytest.mark.parametrize(
    "file",
    [
        "programs/evidence/question.py",
        "signatures/question.py",
        "groundset/corpus/chunkers.py",
        "groundset/engine/decide.py",
        "groundset/engine/schedule.py",
        "groundset/runtime/adapter.py",
        "groundset/retrieval/index.py",
        "groundset/data/compiled/head/judge.json",
        "groundset/data/demos/question.jsonl",
    ],
)
def test_what_makes_samples_counts(copy: Path, hash_of: Hash, file: str) -> None:
    before = hash_of()
    assert hash_of() == before
    add(copy, file, "\n")
    assert hash_of() != before


def test_what_only_watches_does_not(copy: Path, hash_of: Hash) -> None:
    before = hash_of()
    for file in (
        "groundset/store/summary.py", "groundset/progress.py", "groundset/store/record.py", "groundset/__init__.py",
        "groundset/commands/generate.py", "groundset/sets/exports/autorag.py", "groundset/models/cache.py",
        "groundset/models/catalogue.py", "groundset/tracking/store.py", "optimizers/measures.py",
        "groundset/data/labels/x",
    ):  # fmt: skip
        add(copy, file, "\n")
    add(copy, "programs/imported_by_nobody.py", "NUMBER = 1\n")
    assert hash_of() == before


def test_what_is_imported_inside_a_function_counts(copy: Path, hash_of: Hash) -> None:
    add(
        copy, "groundset/engine/decide.py", "\n\ndef late():\n    from programs.late import NUMBER\n    return NUMBER\n"
    )
    add(copy, "programs/late.py", "NUMBER = 1\n")
    before = hash_of()
    add(copy, "programs/late.py", "NUMBER = 2\n")
    assert hash_of() != before


def test_of_several_recipes_only_the_chosen_one_counts(copy: Path, hash_of: Hash) -> None:
    (copy / "programs" / "recipes.py").unlink(missing_ok=True)
    add(copy, "programs/recipes/__init__.py", "\nfrom programs.recipes import chosen, other\n")
    add(copy, "programs/recipes/chosen.py", "from programs import chosen_stage\n")
    add(copy, "programs/chosen_stage.py", "")
    add(copy, "programs/recipes/other.py", "from programs import other_stage\n")
    add(copy, "programs/other_stage.py", "")
    table = ("chosen", "other")
    before, elsewhere = hash_of(*table), hash_of("in-no-file", *table)
    add(copy, "programs/recipes/other.py", "\n")
    add(copy, "programs/other_stage.py", "\n")
    assert hash_of(*table) == before
    assert hash_of("in-no-file", *table) != elsewhere
    add(copy, "programs/chosen_stage.py", "\n")
    assert hash_of(*table) != before


def test_watching_names_what_exists() -> None:
    modules = grimp.build_graph(*PACKAGES, cache_dir=None).modules
    assert set(WATCHING) <= modules


def test_what_makes_samples_is_there_whichever_way_it_is_reached_and_the_command_line_is_not() -> None:
    counted = code_modules("evolved", ("evolved",))
    assert {"programs.recipes", "programs.evidence.question", "signatures.question", "groundset.engine.engine"} <= set(
        counted
    )
    assert not [module for module in counted if module.startswith(("groundset.commands", "groundset.compiling"))]
