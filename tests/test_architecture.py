"""House rules that no linter checks."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("signatures", "programs", "optimizers", "groundset")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_modules_stay_under_400_lines(module):
    assert len(module.read_text(encoding="utf-8").splitlines()) < 400


def test_every_folder_of_modules_is_a_package_with_types():
    for folder in {path.parent for path in MODULES}:
        assert (folder / "__init__.py").is_file()
    for package in PACKAGES:
        assert (ROOT / package / "py.typed").is_file()
