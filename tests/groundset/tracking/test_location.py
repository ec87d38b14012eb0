"""Which store is used: the environment's, the one that was named, a project's own, the user's."""

from pathlib import Path

import platformdirs
import pytest

from groundset.privacy import without_secrets
from groundset.tracking.location import Place, shown, tracking_place
from programs.errors import InputError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and a home of the user beside it."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path / "home"))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def stored_in(folder: Path, *, usual: bool = False) -> Place:
    return Place(f"sqlite:///{folder}/mlflow.db", folder / "artifacts", usual)


def test_the_user_has_one_store_and_the_working_directory_stays_as_it_is(here: Path) -> None:
    home = here.parent / "home" / "mlruns"
    with pytest.raises(InputError, match=f"nothing is tracked in {home} yet"):
        tracking_place(create=False)
    assert not home.exists()
    assert tracking_place(create=True) == stored_in(home, usual=True)
    assert home.is_dir()
    assert list(here.iterdir()) == []


def test_without_a_home_of_groundset_it_is_among_the_data_of_the_user(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GROUNDSET_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(here.parent / "data"))
    place = tracking_place(create=True)
    assert place == stored_in(platformdirs.user_data_path("groundset", appauthor=False) / "mlruns", usual=True)


def test_a_project_may_have_its_own(here: Path) -> None:
    (here / "mlruns").mkdir()
    assert tracking_place(create=True) == stored_in(here / "mlruns")


def test_a_store_that_is_named_comes_before_both_and_the_environment_before_that(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "mlruns").mkdir()
    assert tracking_place("other/store", create=True) == stored_in(here / "other" / "store")
    server = "https://me:secret@example.org"
    assert tracking_place(server, create=False) == Place(server, None)
    file = f"sqlite:///{here}/own.db"
    assert tracking_place(file, create=False) == Place(file, here / "artifacts")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://example.com")
    assert tracking_place("other", create=True) == Place("https://example.com", None)


def test_a_folder_that_cannot_be_made_is_named(here: Path) -> None:
    (here / "file").write_text("")
    with pytest.raises(InputError, match=f"cannot track in {here}/file/store: Not a directory"):
        tracking_place("file/store", create=True)


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("sqlite:////a/mlruns/mlflow.db", "/a/mlruns"),
        ("sqlite:////a/own.db", "sqlite:////a/own.db"),
        ("sqlite:////a/me@work/own.db", "sqlite:////a/me@work/own.db"),
        ("https://me:secret@example.org/x", "https://example.org/x"),
        ("https://token@example.org:5000/x", "https://example.org:5000/x"),
        ("https://example.org/me@work", "https://example.org/me@work"),
        ("http://me:p@ssword@host/", "http://host/"),
        ("postgresql://me:pa/ss@db.example/x", "postgresql://db.example/x"),
        ("postgresql://me:pa?ss=1@db.example/x", "postgresql://db.example/x"),
        ("postgresql://db/x?user=me&password=hunt@er2", "postgresql://db/x"),
        ("mssql+pyodbc:///?odbc_connect=PWD%3Dhunter2", "mssql+pyodbc:///"),
    ],
)
def test_a_store_is_shown_without_secrets(uri: str, expected: str) -> None:
    assert shown(uri) == expected


def test_a_text_keeps_what_is_no_secret_of_its_addresses() -> None:
    said = "Is http://me:secret@host:5000/x?key=secret up? me@example.org knows, see https://example.org/e."
    assert without_secrets(said) == "Is http://host:5000/x up? me@example.org knows, see https://example.org/e."
