import os
from pathlib import Path

import pytest

from groundset.corpus.files import FoundFiles, find_documents
from programs.errors import InputError


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.md", "a.txt", "sub/c.md", "sub/deep/d.html", ".hidden.md", ".git/config"):
        file = tmp_path / "docs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return tmp_path / "docs"


def test_folder_is_searched_recursively_without_hidden_files(tree: Path) -> None:
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


def test_path_of_a_single_file(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree.parent)
    for argument in (tree / "b.md", Path("docs/b.md"), Path("docs/../docs/b.md")):
        assert [f.path for f in find_documents([argument]).files] == ["b.md"]


def test_duplicate_arguments(tree: Path) -> None:
    assert len(find_documents([tree, tree / "b.md", str(tree / "*.md")]).files) == 4


def test_equal_names_are_distinguished_by_their_folders(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "index.md").write_text(folder)
    found = find_documents([tmp_path / "two", tmp_path / "one"])
    assert [f.path for f in found.files] == ["one/index.md", "two/index.md"]


def test_file_name_with_glob_characters(tmp_path: Path) -> None:
    (tmp_path / "a[1].md").write_text("x")
    assert [f.path for f in find_documents([tmp_path / "a[1].md"]).files] == ["a[1].md"]


@pytest.mark.parametrize("name", ["absent", "absent/*.md", "*.nothing", "bad\0name"])
def test_missing_path_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"absent|nothing|bad"):
        find_documents([tmp_path / name])


def test_no_arguments() -> None:
    with pytest.raises(InputError, match="no documents were named"):
        find_documents([])


def test_unlistable_folder_is_skipped(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("deep"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = find_documents([tree])
    assert len(found.files) == 3
    assert [skipped.reason for skipped in found.skipped] == ["cannot be listed: Permission denied"]


def test_circular_links(tree: Path) -> None:
    (tree / "sub" / "loop").symlink_to(tree)
    assert len(find_documents([tree]).files) == 4


def test_paths_are_normalised(tmp_path: Path) -> None:
    (tmp_path / "U\u0308ber.md").write_text("x")
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.md"))).write_text("x")
    assert [f.path for f in find_documents([tmp_path]).files] == ["bad?.md", "\u00dcber.md"]


def skipped_files(found: FoundFiles) -> list[tuple[str, str]]:
    return [(skipped.path, skipped.reason) for skipped in found.skipped]


OUTSIDE = "link that leads out of the folder"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "secret.md").write_text("secret")
    return tmp_path / "private"


def test_links_out_of_the_folder_are_skipped(tree: Path, secret: Path) -> None:
    (tree / "file.md").symlink_to(secret / "secret.md")
    (tree / "sub" / "relative.md").symlink_to("../../private/secret.md")
    (tree / "system.txt").symlink_to("/etc/hosts")
    (tree / "folder").symlink_to(secret)
    (tree / "chain.md").symlink_to(tree / "folder" / "secret.md")
    (tree / "device.txt").symlink_to("/dev/null")
    names = ["chain.md", "device.txt", "file.md", "folder", "sub/relative.md", "system.txt"]
    found = find_documents([tree])
    assert [f.path for f in found.files] == ["a.txt", "b.md", "sub/c.md", "sub/deep/d.html"]
    assert sorted(skipped_files(found)) == [(name, OUTSIDE) for name in names]
    for pattern in ("**/*", "*", "*/secret.md"):
        found = find_documents([tree / pattern])
        assert not [f for f in found.files if f.file.read_text() == "secret"]
        assert {reason for _, reason in skipped_files(found)} == {OUTSIDE}


def test_a_neighbour_whose_name_begins_like_the_folder_is_outside(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "docs-private").mkdir()
    (tmp_path / "docs-private" / "x.md").write_text("x")
    (tree / "x.md").symlink_to(tmp_path / "docs-private" / "x.md")
    assert skipped_files(find_documents([tree])) == [("x.md", OUTSIDE)]


def test_a_link_that_is_named_itself_is_followed(tree: Path, secret: Path, tmp_path: Path) -> None:
    (tmp_path / "link.md").symlink_to(secret / "secret.md")
    (tmp_path / "linked").symlink_to(tree)
    found = find_documents([tmp_path / "link.md", tmp_path / "linked"])
    assert [f.path for f in found.files] == ["a.txt", "b.md", "link.md", "sub/c.md", "sub/deep/d.html"]
    assert found.skipped == []
    assert len(find_documents([tmp_path / "linked" / "*.md"]).files) == 1


def test_links_inside_the_folder_make_no_second_document(tree: Path) -> None:
    (tree / "a-link.md").symlink_to(tree / "b.md")
    (tree / "again").symlink_to(tree / "sub")
    (tree / "sub" / "up").symlink_to("..")
    (tree / "shown.md").symlink_to(tree / ".hidden.md")
    found = find_documents([tree])
    assert [f.path for f in found.files] == ["a.txt", "b.md", "shown.md", "sub/c.md", "sub/deep/d.html"]
    assert sorted(skipped_files(found)) == [
        ("a-link.md", "link to a file that is read by itself"),
        ("again", "links to folders are not followed"),
        ("sub/up", "links to folders are not followed"),
    ]
    assert [f.path for f in find_documents([tree / "*" / "c.md"]).files] == ["sub/c.md"]


def test_a_link_that_leads_nowhere_is_left_to_the_reader(tree: Path) -> None:
    (tree / "gone.md").symlink_to("nowhere.md")
    (tree / "self.md").symlink_to("self.md")
    assert {f.path for f in find_documents([tree]).files} >= {"gone.md", "self.md"}
