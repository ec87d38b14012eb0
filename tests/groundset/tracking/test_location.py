"""The location of the tracking store."""

from pathlib import Path

import platformdirs
import pytest

from groundset.privacy import without_secrets
from groundset.tracking.location import StoreLocation, display_uri, tracking_location
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


def stored_in(folder: Path, *, is_default: bool = False) -> StoreLocation:
    return StoreLocation(f"sqlite:///{folder}/mlflow.db", folder / "artifacts", is_default)


def test_default_store(here: Path) -> None:
    home = here.parent / "home" / "mlruns"
    with pytest.raises(InputError, match=f"{home}: nothing tracked yet"):
        tracking_location(create=False)
    assert not home.exists()
    assert tracking_location(create=True) == stored_in(home, is_default=True)
    assert home.is_dir()
    assert list(here.iterdir()) == []


def test_default_store_in_user_data_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROUNDSET_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(here.parent / "data"))
    place = tracking_location(create=True)
    assert place == stored_in(platformdirs.user_data_path("groundset", appauthor=False) / "mlruns", is_default=True)


def test_project_store(here: Path) -> None:
    (here / "mlruns").mkdir()
    assert tracking_location(create=True) == stored_in(here / "mlruns")


def test_option_and_environment_take_precedence(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "mlruns").mkdir()
    assert tracking_location("other/store", create=True) == stored_in(here / "other" / "store")
    server = "https://me:secret@example.org"
    assert tracking_location(server, create=False) == StoreLocation(server, None)
    file = f"sqlite:///{here}/own.db"
    assert tracking_location(file, create=False) == StoreLocation(file, here / "artifacts")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://example.com")
    assert tracking_location("other", create=True) == StoreLocation("https://example.com", None)


def test_folder_that_cannot_be_created(here: Path) -> None:
    (here / "file").write_text("")
    with pytest.raises(InputError, match=f"cannot track in {here}/file/store: Not a directory"):
        tracking_location("file/store", create=True)


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
def test_display_uri(uri: str, expected: str) -> None:
    assert display_uri(uri) == expected


def test_without_secrets_in_text() -> None:
    text = "Is http://me:secret@host:5000/x?key=secret up? me@example.org knows, see https://example.org/e."
    assert without_secrets(text) == "Is http://host:5000/x up? me@example.org knows, see https://example.org/e."
