"""What is installed is one package, which leaves the process and the project around it alone."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from hatchling import build
from hub_server import serving

ROOT = Path(__file__).parents[2]
OWN = ("data", "optimizers", "programs", "signatures", "tests")
# A cell each: what a notebook of the project does, in this order.
NOTEBOOK = """
import importlib, json, os, sys
names, document = sys.argv[1:3]
before = dict(os.environ)
import groundset
groundset.OneChunk
assert dict(os.environ) == before, "importing changes the environment"
of_the_project = [importlib.import_module(name).OWN for name in names.split()]

chunks = groundset.chunk([document]).chunks
changed = {name for name in {*before, *os.environ} if os.environ.get(name) != before.get(name)}

import datasets, huggingface_hub
tokenizer = huggingface_hub.hf_hub_download("you/model", "tokenizer.json")
rows = datasets.load_dataset("you/notes", split="train").to_list()
print(json.dumps([groundset.__file__, of_the_project, len(chunks), sorted(changed),
                  open(tokenizer).read(), rows]))
"""


def build_in(folder, kind, target):
    """Build a distribution of the sources in a folder."""
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        return target / getattr(build, f"build_{kind}")(str(target))


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_in(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


def test_a_wheel_holds_one_package_with_everything(wheel, tmp_path):
    files = contents(wheel)
    [name] = {path.partition("/")[0] for path in files if ".dist-info/" not in path}
    inside = {path.split("/")[1] for path in files if path.startswith(f"{name}/")}
    assert name == "groundset"
    assert {"data", "optimizers", "programs", "signatures"} < inside
    assert not {"tests", "mlruns", "benchmarks"} & inside
    with tarfile.open(build_in(ROOT, "sdist", tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    [sources] = tmp_path.glob("*/")
    assert contents(build_in(sources, "wheel", tmp_path)) == files


@pytest.mark.parametrize("installed", ["wheel", "checkout"])
def test_it_works_in_a_project_with_the_same_folders(wheel, tmp_path, installed):
    site, project = tmp_path / "site", tmp_path / "project"
    if installed == "checkout":
        (tmp_path / "built").mkdir()
        wheel = build_in(ROOT, "editable", tmp_path / "built")
    for path, content in contents(wheel).items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(content)
    # Only folders of this kind have their .pth files read, as those of an environment have.
    (site / "sitecustomize.py").write_text(f"import site\nsite.addsitedir({str(site)!r})\n")
    for name in OWN:
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text(f"OWN = {name!r}\n")
    (project / "ferry.md").write_text(
        "# Ferry\n\nThe ferry to the island leaves at nine and takes forty minutes; a ticket costs"
        " three crowns for each person, and children under six travel free.\n"
    )
    with serving() as hub:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PYTHONPATH": str(site),
            "HF_ENDPOINT": hub.url,
        }

        def python(*arguments):
            command = [sys.executable, *arguments]
            done = subprocess.run(
                command, cwd=project, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        hub.create("you/model")
        hub.put("you/model", "tokenizer.json", b"{}")
        hub.create("you/notes")
        hub.put("you/notes", "train.csv", b"question,answer\nWhen?,At nine.\n")
        told = python("-c", NOTEBOOK, " ".join(OWN), "ferry.md")
        home, own, chunks, changed, tokenizer, rows = json.loads(told)
        assert Path(home).is_relative_to(site if installed == "wheel" else ROOT)
        assert own == [*OWN]
        assert chunks == 1
        assert "DO_NOT_TRACK" in changed
        assert "HF_HUB_OFFLINE" not in changed
        assert (tokenizer, rows) == ("{}", [{"question": "When?", "answer": "At nine."}])
        assert "COMMAND" in python("-m", "groundset", "--help")
        assert "1 chunks" in python("-m", "groundset", "chunk", "ferry.md", "--out", "out.jsonl")
