import sys
from dataclasses import dataclass

import pytest

from programs.discover import discover


@dataclass
class Row:
    name: str


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "toy_table"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.startswith("toy_table")]:
        del sys.modules[name]


def add(folder, module, text):
    (folder / f"{module}.py").write_text(f"from {__name__} import Row\n{text}\n", "utf-8")


def test_rows_are_sorted_by_module(package, monkeypatch):
    monkeypatch.setitem(sys.modules, __name__, sys.modules[Row.__module__])
    add(package, "second", "ROW = Row('b')")
    add(package, "first", "ROW = Row('c')")
    add(package, "base", "OTHER = 1")
    add(package, "_private", "ROW = Row('p')")
    assert list(discover("toy_table", "ROW", Row)) == ["c", "b"]


@pytest.mark.parametrize("text", ["ROW = 'text'", "ROW = Row('a')"])
def test_wrong_class_or_duplicate_name_is_refused(package, monkeypatch, text):
    monkeypatch.setitem(sys.modules, __name__, sys.modules[Row.__module__])
    add(package, "first", "ROW = Row('a')")
    add(package, "second", text)
    with pytest.raises(TypeError, match="second"):
        discover("toy_table", "ROW", Row)
