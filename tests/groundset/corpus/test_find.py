"""Which files an argument names."""

import os
from pathlib import Path

import pytest
from refusal import refuses

from groundset.corpus.find import find_documents

OUTSIDE = "link that leads out of the folder"


def paths(*arguments):
    return [path for _, path in find_documents(arguments)[0]]


@pytest.fixture
def tree(tmp_path) -> Path:
    for name in ("b.md", "a.txt", "sub/c.md", "sub/deep/d.html", ".hidden.md", ".git/config"):
        file = tmp_path / "docs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return tmp_path / "docs"


@pytest.fixture
def secret(tmp_path) -> Path:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "secret.md").write_text("secret")
    return tmp_path / "private"


def test_folders_globs_and_files(tree, monkeypatch):
    everything = ["a.txt", "b.md", "sub/c.md", "sub/deep/d.html"]
    assert paths(tree) == paths(tree, tree / "b.md", str(tree / "*.md")) == everything
    for pattern, expected in {
        "*.md": ["b.md"],
        "**/*.md": ["b.md", "sub/c.md"],
        "s*": ["sub/c.md", "sub/deep/d.html"],
        "sub/[cd].md": ["c.md"],
    }.items():
        assert paths(tree / pattern) == expected
    monkeypatch.chdir(tree.parent)
    for argument in (tree / "b.md", "docs/b.md", "docs/../docs/b.md"):
        assert paths(argument) == ["b.md"]
    (tree / "a[1].md").write_text("x")
    assert paths(tree / "a[1].md") == ["a[1].md"]


def test_equal_names_are_distinguished_by_their_folders(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "index.md").write_text(folder)
    assert paths(tmp_path / "two", tmp_path / "one") == ["one/index.md", "two/index.md"]


def test_paths_are_normalised(tmp_path):
    (tmp_path / "U\u0308ber.md").write_text("x")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.md")).write_text("x")
    assert paths(tmp_path) == ["bad?.md", "\u00dcber.md"]


@pytest.mark.parametrize("name", ["absent", "absent/*.md", "*.nothing", "bad\0name"])
def test_missing_path_is_named(tmp_path, name):
    with refuses(r"absent|nothing|bad"):
        find_documents([tmp_path / name])


def test_folder_whose_path_is_too_long_is_skipped(tree, monkeypatch):
    monkeypatch.chdir(tree)
    for _ in range(20):
        Path("d" * 240).mkdir()
        monkeypatch.chdir("d" * 240)
    found, [(path, reason)] = find_documents([tree])
    assert len(found) == 4
    assert path[:5] == "ddddd"
    assert reason == "cannot be listed: File name too long"


def test_excluded_files(tree):
    for globs, left in (
        (["*.md"], ["a.txt", "sub/deep/d.html"]),
        (["sub/"], ["a.txt", "b.md"]),
        (["**/deep", "sub/*.md"], ["a.txt", "b.md"]),
    ):
        assert [path for _, path in find_documents([tree], globs)[0]] == left
    with refuses(r"--exclude sup: no file or folder"):
        find_documents([tree], ["*.md", "sup"])


def test_links_out_of_the_folder_are_skipped(tree, secret):
    (tree.parent / "docs-private").mkdir()  # its name begins like that of the folder
    (tree.parent / "docs-private" / "x.md").write_text("x")
    targets = {
        "chain.md": tree / "folder" / "secret.md",
        "device.txt": "/dev/null",
        "file.md": secret / "secret.md",
        "folder": secret,
        "neighbour.md": tree.parent / "docs-private" / "x.md",
        "sub/relative.md": "../../private/secret.md",
    }
    for name, target in targets.items():
        (tree / name).symlink_to(target)
    found, skipped = find_documents([tree])
    assert [path for _, path in found] == ["a.txt", "b.md", "sub/c.md", "sub/deep/d.html"]
    assert sorted(skipped) == [(name, OUTSIDE) for name in targets]
    for pattern in ("**/*", "*", "*/secret.md", "folder*"):
        found, skipped = find_documents([tree / pattern])
        assert not [file for file, _ in found if file.read_text() == "secret"]
        assert OUTSIDE in {reason for _, reason in skipped}


def test_a_link_that_is_named_itself_is_followed(tree, secret, tmp_path):
    (tmp_path / "link.md").symlink_to(secret / "secret.md")
    (tmp_path / "linked").symlink_to(tree)
    expected = ["a.txt", "b.md", "link.md", "sub/c.md", "sub/deep/d.html"]
    assert paths(tmp_path / "link.md", tmp_path / "linked") == expected
    assert find_documents([tmp_path / "linked"])[1] == []


def test_links_inside_the_folder_make_no_second_document(tree):
    targets = {
        "a-link.md": tree / "b.md",
        "again": tree / "sub",
        "sub/up": "..",
        "shown.md": tree / ".hidden.md",
    }
    for name, target in {**targets, "gone.md": "nowhere.md", "self.md": "self.md"}.items():
        (tree / name).symlink_to(target)
    found, skipped = find_documents([tree])
    left = ["a.txt", "b.md", "gone.md", "self.md", "shown.md", "sub/c.md", "sub/deep/d.html"]
    assert [path for _, path in found] == left  # a link that leads nowhere is left to the reader
    assert sorted(skipped) == [
        ("again", "links to folders are not followed"),
        ("sub/up", "links to folders are not followed"),
    ]
