"""House rules that linters do not check."""

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("signatures", "programs", "optimizers", "groundset")
WATCHED = """import runpy, sys
del sys.argv[0]
runpy.run_path(sys.argv[0], {}, "__main__")
print([name for name in sys.modules if name.partition(".")[0] == "optimizers"])
"""
GENERIC = {"utils", "util", "helpers", "helper", "manager", "managers", "common", "misc"}
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_modules_stay_under_400_lines(module):
    assert len(module.read_text(encoding="utf-8").splitlines()) < 400


def test_folders_are_typed_packages():
    for folder in {path.parent for path in MODULES}:
        assert (folder / "__init__.py").is_file()
    for package in PACKAGES:
        assert (ROOT / package / "py.typed").is_file()


def test_generate_does_not_import_optimizers(tmp_path):
    document, driver = tmp_path / "ferry.md", ROOT / "tests" / "packaging" / "scripted_generate.py"
    document.write_text("# The ferry\n\n" + "The ferry Henn first crossed Tollvik Sound in 1931, as people say. " * 3)
    command = [sys.executable, "-c", WATCHED, str(driver), str(document), str(tmp_path / "run")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stdout.split("\n") == ["complete", "[]", ""], ran.stderr


def test_public_class_names_are_unique():
    places = defaultdict(list)
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_bytes())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module.relative_to(ROOT).as_posix())
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_generic_module_names():
    paths = [path for folder in (*PACKAGES, "tests", "benchmarks") for path in (ROOT / folder).rglob("*")]
    assert [path for path in paths if path.stem.strip("_") in GENERIC] == []


def test_only_groundset_imports_languages():
    """Other packages get languages as arguments."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    own = {module for module in graph.modules if module.startswith("programs.languages")}
    importers = graph.find_downstream_modules("programs.languages") - own
    assert {module.partition(".")[0] for module in importers} == {"groundset"}
