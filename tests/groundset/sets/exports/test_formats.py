"""All formats: documentation, file patterns and determinism."""

import csv
import json
import os
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from datasets import Dataset
from evaluation_sets import evaluation_set

from groundset.folders import check_own
from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS
from programs.errors import InputError

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
FILES = re.compile(r"^\| `([^`]+)` \| (.*) \|$", re.MULTILINE)
WRITE = """import sys
from pathlib import Path
from evaluation_sets import evaluation_set
from groundset.sets.exports import EXPORTS
from groundset.sets.exporting import write_set
write_set(evaluation_set(), list(EXPORTS.values()), Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a folder with a folder for each format."""
    out = tmp_path_factory.mktemp("formats") / "out"
    write_set(evaluation_set(), list(EXPORTS.values()), out)
    return out


def described(name):
    """Return the files that the section of a format names, each with what it says of the columns."""
    section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section, f"docs/formats.md has no section {name}"
    _, _, table = section[1].partition("| file | columns |\n|---|---|\n")
    rows = dict(FILES.findall(table.split("\n\n")[0]))
    assert rows, f"docs/formats.md has no table of the files of {name}"
    assert "\nRead by: " in section[1]
    return {re.sub(r"<\w+>", "*", file): columns for file, columns in rows.items()}


def files_in(folder):
    return sorted(file for file in folder.rglob("*") if file.is_file())


def rows_of(file):
    """Return the rows of a table; None for what has no names of columns."""
    if file.suffix == ".parquet":
        return pq.read_table(file).to_pylist()
    if file.suffix == ".arrow":
        return Dataset.from_file(str(file)).to_list()
    with file.open(encoding="utf-8-sig", newline="") as stream:
        if file.suffix == ".jsonl":
            return [json.loads(line) for line in stream]
        if file.suffix in (".csv", ".tsv"):
            return list(csv.DictReader(stream, delimiter="," if file.suffix == ".csv" else "\t"))
    return None


def in_any_order(file):
    lines = pq.read_table(file).to_pylist() if file.suffix == ".parquet" else file.read_bytes().split(b"\n")
    return sorted(map(str, lines))


@pytest.mark.parametrize("name", EXPORTS)
def test_docs_describe_files_and_columns(written, name):
    rows = described(name)
    relative = {file: file.relative_to(written / name).as_posix() for file in files_in(written / name)}
    covered = {
        file: [said for said in rows if fnmatchcase(place, said) or place.startswith(said)]
        for file, place in relative.items()
    }
    assert [relative[file] for file, said in covered.items() if len(said) != 1] == []
    assert {said for found in covered.values() for said in found} == {*rows}, "a file that is not written"
    named = list(rows.values())
    for file, (said,) in covered.items():
        columns = rows[said] if rows[said] != "the same" else named[0]
        found = rows_of(file)
        if found is not None and not columns.startswith("no header"):
            assert re.findall(r"`([^`]+)`", re.sub(r"\([^)]*\)", "", columns)) == list(found[0]), relative[file]


def test_docs_list_every_format():
    table = PAGE.partition("| format | for |\n|---|---|\n")[2].split("\n\n")[0]
    assert re.findall(r"^\| \[`(\w+)`\]\(#(\w+)\)", table, re.MULTILINE) == [(name, name) for name in sorted(EXPORTS)]


@pytest.mark.parametrize(("name", "folder"), [("trec", "corpus"), ("hf", "corpus"), ("hf", "qa"), ("beir", "qrels")])
def test_foreign_files_are_never_removed(name, folder, tmp_path):
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "letter.docx").write_text("precious")
    with pytest.raises(InputError, match=rf"holds other files \({folder}/letter\.docx\)"):
        write_set(evaluation_set(), [EXPORTS[name]], tmp_path)
    assert (tmp_path / folder / "letter.docx").read_text() == "precious"


@pytest.mark.parametrize("name", EXPORTS)
def test_formats_declare_their_files(written, name):
    check_own(written / name, EXPORTS[name].files)
    assert (written / name / EXPORTS[name].last).exists()


def test_exports_are_deterministic(written, tmp_path):
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", WRITE, str(tmp_path / "again")], check=True, env=environment, timeout=120)
    names = [file.relative_to(written).as_posix() for file in files_in(written)]
    assert names == [file.relative_to(tmp_path / "again").as_posix() for file in files_in(tmp_path / "again")]
    different = [name for name in names if (written / name).read_bytes() != (tmp_path / "again" / name).read_bytes()]
    assert different == []


def test_exports_do_not_depend_on_order(written, tmp_path):
    whole = evaluation_set()
    turned = whole.replace(
        samples=whole.samples[::-1],
        question_vectors=whole.question_vectors[::-1],
        chunks=whole.chunks[::-1],
        documents=whole.documents[::-1],
        chunk_vectors=whole.chunk_vectors[::-1],
    )
    write_set(turned, list(EXPORTS.values()), tmp_path / "turned")
    files = [file for file in files_in(written) if file.suffix in (".parquet", ".jsonl", ".csv", ".tsv", ".txt")]
    assert len(files) >= 10
    for file in files:
        place = file.relative_to(written)
        assert in_any_order(file) == in_any_order(tmp_path / "turned" / place), place
