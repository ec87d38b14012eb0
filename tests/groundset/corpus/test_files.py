import os
from pathlib import Path

import pytest

from groundset.corpus.files import find_documents
from programs.errors import InputError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.md", "a.txt", "sub/c.md", "sub/deep/d.html", ".hidden.md", ".git/config"):
        file = tmp_path / "docs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return tmp_path / "docs"


def test_folder_is_recursive_sorted_and_without_hidden_files(tree: Path) -> None:
    assert [f.path for f in find_documents([tree]).files] == ["a.txt", "b.md", "sub/c.md", "sub/deep/d.html"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.md", ["b.md"]),
        ("**/*.md", ["b.md", "sub/c.md"]),
        ("s*", ["sub/c.md", "sub/deep/d.html"]),
        ("sub/[cd].md", ["c.md"]),
    ],
)
def test_globs(tree: Path, pattern: str, expected: list[str]) -> None:
    assert [f.path for f in find_documents([tree / pattern]).files] == expected


def test_a_file_has_the_same_path_alone_as_in_its_folder(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree.parent)
    for argument in (tree / "b.md", Path("docs/b.md"), Path("docs/../docs/b.md")):
        assert [f.path for f in find_documents([argument]).files] == ["b.md"]


def test_the_same_file_is_found_once(tree: Path) -> None:
    assert len(find_documents([tree, tree / "b.md", str(tree / "*.md")]).files) == 4


def test_equal_names_are_told_apart_by_the_folders_above(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "index.md").write_text(folder)
    found = find_documents([tmp_path / "two", tmp_path / "one"])
    assert [f.path for f in found.files] == ["one/index.md", "two/index.md"]


def test_a_file_whose_name_looks_like_a_glob(tmp_path: Path) -> None:
    (tmp_path / "a[1].md").write_text("x")
    assert [f.path for f in find_documents([tmp_path / "a[1].md"]).files] == ["a[1].md"]


@pytest.mark.parametrize("name", ["absent", "absent/*.md", "*.nothing", "bad\0name"])
def test_missing_path_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"absent|nothing|bad"):
        find_documents([tmp_path / name])


def test_no_path_at_all() -> None:
    with pytest.raises(InputError, match="no documents were named"):
        find_documents([])


def test_a_folder_that_cannot_be_listed_is_skipped(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("deep"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = find_documents([tree])
    assert len(found.files) == 3
    assert [skipped.reason for skipped in found.skipped] == ["cannot be listed: Permission denied"]


def test_links_in_a_circle_end(tree: Path) -> None:
    (tree / "sub" / "loop").symlink_to(tree)
    assert len(find_documents([tree]).files) == 4


def test_paths_are_spelt_the_same_on_every_system(tmp_path: Path) -> None:
    (tmp_path / "U\u0308ber.md").write_text("x")
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.md"))).write_text("x")
    assert [f.path for f in find_documents([tmp_path]).files] == ["bad?.md", "\u00dcber.md"]
