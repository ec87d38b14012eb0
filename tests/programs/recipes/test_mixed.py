"""The options of recipes that mix evolutions: the mix, personas and queries."""

from pathlib import Path
from typing import Any

import pytest

from programs.errors import InputError
from programs.evolutions import EVOLUTIONS
from programs.modes import MODES
from programs.recipes import RECIPES
from programs.recipes.mixed import MixedOptions

MIXED = [name for name, row in RECIPES.items() if issubclass(row.options, MixedOptions)]
NURSE, CLERK = "a nurse on her first night shift", "a clerk"


def options(recipe: str = "evolved", **given: Any) -> Any:
    return RECIPES[recipe].options(**given)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "texts.txt"
    file.write_text("\ufeffwhats the wifi code\r\n\n  lift   stuck pls \nwhats the wifi code\n", "utf-8")
    return file


def test_queries_and_personas_are_read_from_files(file: Path) -> None:
    read = ("whats the wifi code", "lift stuck pls")
    assert options(like=str(file)).like == options(like=file).like == read
    assert options(personas=[NURSE, str(file), NURSE]).personas == (NURSE, *read)
    assert options(personas=NURSE).personas == (NURSE,)
    assert options(like=["config.txt", "config.txt"]).like == ("config.txt",), "a list holds queries"
    assert (options().like, options().personas) == (None, ())


def test_a_run_is_described_by_the_texts_and_not_by_their_file(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("whats the wifi code\nlift stuck pls", "utf-8")
    first, second = options(like=str(file)).compared(), options(like=str(other)).compared()
    assert first == second
    assert first["like"]["name"] == "of 2 lines"
    other.write_text("whats the wifi code", "utf-8")
    assert options(like=str(other)).compared() != first
    assert options(personas=NURSE).compared()["personas"] != options(personas=CLERK).compared()["personas"]
    assert options().compared()["like"] is None
    again = options(**options(like=str(file), personas=NURSE).model_dump(mode="json"))
    assert again.compared() == options(like=str(file), personas=NURSE).compared()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.txt", None, "missing.txt: No such file or directory"),
        ("folder.txt", "folder", "folder.txt: Is a directory"),
        ("empty.txt", b"", "empty.txt: is empty; write one text a line"),
        ("blank.txt", b"\n \n\t\n", "blank.txt: is empty; write one text a line"),
        ("binary.txt", b"\xff\xfe\x00", "binary.txt: not UTF-8 text"),
        ("zeros.txt", b"one\ntwo\x00\n", "zeros.txt, line 2: not plain text"),
        ("long.txt", b"one\n" + b"x" * 1001, "long.txt, line 2: longer than 1,000 characters"),
        ("huge.txt", b"x" * (9 << 20), "huge.txt: longer than 8 MB"),
        ("many.txt", b"\n".join(b"%d" % n for n in range(10_001)), "many.txt: more than 10,000 lines"),
    ],
)
@pytest.mark.parametrize("option", ["like", "personas"])
def test_unusable_files_are_refused(option: str, name: str, content: Any, message: str, tmp_path: Path) -> None:
    file = tmp_path / name
    if content == "folder":
        file.mkdir()
    elif content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError) as raised:
        options(**{option: str(file)})
    assert str(raised.value).startswith(f"--{option} ")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_empty_and_long_texts_are_refused() -> None:
    for given in ("  ", "x" * 1001):
        with pytest.raises(InputError, match="--personas"):
            options(personas=[given])
        with pytest.raises(InputError, match="--like"):
            options(like=[given])


@pytest.mark.parametrize("recipe", MIXED)
@pytest.mark.parametrize("mode", MODES)
def test_given_texts_add_their_evolution_to_the_default_mix(recipe: str, mode: str) -> None:
    plain = options(recipe).in_mode(MODES[mode]).mix
    total = sum(plain.values())
    assert options(recipe, like=["q"]).in_mode(MODES[mode]).mix == {**plain, "like": total / 3}
    both = options(recipe, like=["q"], personas=NURSE).in_mode(MODES[mode])
    assert both.mix == {**plain, "persona": total / 3, "like": total / 3}
    assert both.in_mode(MODES[mode]).mix == both.mix


@pytest.mark.parametrize(
    ("recipe", "given", "message"),
    [
        ("evolved", {"mix": "simple=1,like=1"}, "--mix like: name a text file of your own queries with --like FILE"),
        ("evolved", {"mix": "simple=1", "like": ["q"]}, "--like: add like=WEIGHT to --mix"),
        ("evolved", {"mix": "persona=0,simple=1", "personas": "a clerk"}, "--personas: add persona=WEIGHT to --mix"),
        ("evolved", {"mix": "deepen=1"}, "--mix: there is no deepen in mode guided"),
        ("single", {"mix": "reasoning=1"}, "--mix: there is no reasoning in mode guided; there are simple, "),
        ("multi", {"mix": "simple=1"}, "--mix: there is no simple in mode guided; there are multi_context, "),
    ],
)
def test_mix_must_agree_with_the_recipe_and_the_other_options(recipe: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="--") as raised:
        options(recipe, **given).in_mode(MODES["guided"])
    assert str(raised.value).startswith(message)


def test_mix_without_texts_of_the_user_needs_none_for_personas() -> None:
    assert options(mix="persona=1").in_mode(MODES["guided"]).mix == {"persona": 1}


@pytest.mark.parametrize(("recipe", "plain"), [("single", "simple"), ("multi", "multi_context")])
@pytest.mark.parametrize("mode", ["guided", "free"])
def test_other_recipes_mix_their_questions_with_rewordings(recipe: str, plain: str, mode: str) -> None:
    mix = options(recipe, mix=f"terse=1,{plain}=2,typos=1").in_mode(MODES[mode])
    shares = RECIPES[recipe].shares(8, mix)
    assert dict(shares) == {plain: 4, "terse": 2, "typos": 2}
    assert next(iter(shares)) == plain
    assert RECIPES[recipe].shares(1, mix) == {plain: 1}
    assert set(options(recipe).in_mode(MODES[mode]).mix) == {plain}
    assert all(EVOLUTIONS[name].rewords for name in shares if name != plain)
