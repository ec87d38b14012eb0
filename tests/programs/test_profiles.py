"""Profiles: reading their dimensions from files."""

import json
from pathlib import Path
from typing import Any

import pytest

from groundset.data_files import data_path
from programs.errors import InputError
from programs.profiles import ProfileTable, as_profiles, read_profiles

FORM = {"description": "the form", "values": {"short": {"description": "a few words"}}}
TABLE = {"parameters": {"Form": FORM}}


def write(folder: Path, value: Any) -> Path:
    file = folder / "profiles.json"
    file.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return file


def test_shipped_dimensions() -> None:
    table = read_profiles(data_path("profiles", "default.json"))
    assert list(table.parameters) == ["Type", "Persona", "Scope", "Difficulty"]
    assert list(table.parameters["Type"].values) == [
        *("short", "open", "true/false", "multiple choice", "opinion", "critical thinking"),
    ]


def test_table_as_prompts_show_it(tmp_path: Path) -> None:
    table = read_profiles(write(tmp_path, {"parameters": {"Form": {**FORM, "description": "the\n form"}}}))
    assert table.as_text() == "Form: the form\n- short: a few words"
    assert table.form() == "Form: …"
    assert table.describe({"Form": "short"}) == "Form: short (a few words)"


def test_profile_for_a_number_of_passages() -> None:
    table = read_profiles(data_path("profiles", "default.json"))
    wide = {"Type": "short", "Persona": "newcomer", "Scope": "several passages", "Difficulty": "easy"}
    assert table.for_passages(wide, 1) == {**wide, "Scope": "one passage"}, "the nearest value"
    assert table.for_passages({**wide, "Scope": "one statement"}, 3) == wide
    for count in (2, 3):
        assert table.for_passages(wide, count) == wide
    own = ProfileTable.model_validate(TABLE)
    assert own.for_passages({"Form": "short"}, 2) == {"Form": "short"}, "nothing is declared"
    value = {"description": "x", "passages": "several"}
    only = ProfileTable.model_validate({"parameters": {"Reach": {"description": "x", "values": {"wide": value}}}})
    assert only.for_passages({"Reach": "wide"}, 1) == {"Reach": "wide"}, "no other value"


def test_option_accepts_path_content_and_table(tmp_path: Path) -> None:
    file = write(tmp_path, TABLE)
    tables = [as_profiles(value) for value in (file, str(file), TABLE)]
    assert tables == [ProfileTable.model_validate(TABLE)] * 3
    assert as_profiles(tables[0]) is tables[0]
    assert as_profiles(None) is None
    assert tables[0].sha256 != as_profiles(data_path("profiles", "default.json")).sha256


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ([], "the file: "),
        ({}, "parameters: missing"),
        ({"parameters": {}}, "parameters: must not be empty"),
        ({"parameters": {"Form": {"description": "x", "values": {}}}}, "parameters.Form.values: must not be empty"),
        ({"parameters": {"Form": {**FORM, "colour": 1}}}, "parameters.Form.colour: unknown key"),
        ({"parameters": {"Form": {"values": FORM["values"]}}}, "parameters.Form.description: missing"),
        ({"parameters": {"Form": {**FORM, "description": ""}}}, "parameters.Form.description: "),
        ({"parameters": {"Form": {**FORM, "description": " \n"}}}, "parameters.Form.description: "),
        ({"parameters": {"Form": {**FORM, "values": {"short": "words"}}}}, "parameters.Form.values.short: "),
        (
            {"parameters": {"Form": {**FORM, "values": {"short": {"description": "x", "passages": 2}}}}},
            "parameters.Form.values.short.passages: ",
        ),
        ({"parameters": {"Form": {**FORM, "values": ["short"]}}}, "parameters.Form.values: "),
        ({"parameters": {"": FORM}}, "parameters.: a name must not be empty"),
        ({"parameters": {"Form: a": FORM}}, "parameters.Form: a: a name must not"),
        ({"parameters": {"Form": FORM, "form": FORM}}, "parameters: two names differ only in"),
        ({"parameters": {"F" * 61: FORM}}, "parameters."),
    ],
)
def test_invalid_file_error_names_file_and_key(tmp_path: Path, value: Any, message: str) -> None:
    file = write(tmp_path, value)
    with pytest.raises(InputError) as caught:
        as_profiles(file)
    assert str(caught.value).startswith(f"--profile-file {file}: {message}")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(file)) + 200


def test_unreadable_file_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        as_profiles(tmp_path / "none.json")
    with pytest.raises(InputError, match="Is a directory"):
        as_profiles(tmp_path)
    with pytest.raises(InputError, match="longer than 1 MB"):
        as_profiles(write(tmp_path, " " * ((1 << 20) + 1)))
    with pytest.raises(InputError, match="is a pipe or a device"):
        as_profiles("/dev/zero")
    (tmp_path / "profiles.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        as_profiles(tmp_path / "profiles.json")
    with pytest.raises(InputError, match=r"^--profile-file parameters: missing$"):
        as_profiles({})
