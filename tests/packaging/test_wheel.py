"""The wheel is complete and works without the checkout."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DRIVER = Path(__file__).with_name("scripted_generate.py")
PACKAGES = ("signatures", "programs", "optimizers", "groundset")
DOCUMENT = """# The Tollvik ferry

The ferry Henn first crossed Tollvik Sound in 1931. Before that year, people and their animals had to take the long
road round the head of the fjord, which kept travellers busy for two days in summer and was closed by snow in winter.
"""


def call(*arguments: object, cwd: Path) -> str:
    """Run a program without PYTHON* variables and return its output."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [str(argument) for argument in arguments],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    call(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, cwd=ROOT)
    [built] = out.glob("groundset-*.whl")
    return built


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into a fresh environment and return its bin folder.

    A .pth file adds the dependencies of this environment, but not its editable install: nested .pth files are ignored.
    """
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    python = binaries / "python"
    site = call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip()
    here = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    Path(site, "dependencies.pth").write_text("\n".join(here), encoding="utf-8")
    install = ("install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", wheel)
    call(sys.executable, "-m", "pip", "--python", python, *install, cwd=folder)
    return binaries


def test_contents_of_the_wheel(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.split("/")[0] for name in names}
    assert tops - {name for name in tops if name.endswith(".dist-info")} == set(PACKAGES)
    for package in PACKAGES:
        assert f"{package}/py.typed" in names
        assert f"{package}/__init__.py" in names
    data = {path.relative_to(ROOT).as_posix() for path in (ROOT / "data").rglob("*") if path.is_file()}
    assert data
    assert {name.removeprefix("groundset/") for name in names if name.startswith("groundset/data/")} == data
    pages = [path for ending in ("html", "css", "js") for path in (ROOT / "groundset").rglob(f"*.{ending}")]
    assert pages
    assert {path.relative_to(ROOT).as_posix() for path in pages} <= names
    assert not [name for name in names if "test" in Path(name).name.lower() or "__pycache__" in name]
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_command_in_an_empty_directory(programs, tmp_path):
    assert "generate" in call(programs / "groundset", "--help", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_imports_come_from_the_wheel(programs, tmp_path):
    script = (
        "import json, importlib; from groundset.data_files import data_path; "
        f"print(json.dumps([*(importlib.import_module(p).__file__ for p in {PACKAGES}), str(data_path('samples'))]))"
    )
    for path in map(Path, json.loads(call(programs / "python", "-c", script, cwd=tmp_path))):
        assert path.is_relative_to(programs.parent)
        assert path.exists()


def test_generate_show_and_export(programs, tmp_path):
    document = tmp_path / "ferry.md"
    document.write_text(DOCUMENT, encoding="utf-8")
    run = tmp_path / "run"
    assert (
        call(programs / "python", "-W", "error::ResourceWarning", DRIVER, document, run, cwd=tmp_path) == "complete\n"
    )
    [sample] = [json.loads(line) for line in (run / "samples.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (sample["question"].split()[:3], sample["answer"]) == (["In", "which", "year"], "1931")
    shown = call(programs / "groundset", "show", run, cwd=tmp_path)
    assert "1931" in shown
    call(programs / "groundset", "export", run, "--format", "autorag", "--out", run / "autorag", cwd=tmp_path)
    assert sorted(path.name for path in (run / "autorag").iterdir()) == ["corpus.parquet", "qa.parquet"]
