"""Configurations from options, files and run records."""

import json
from pathlib import Path

import pytest

from groundset.commands.generate import generate_parameters
from groundset.engine.config import RunConfig, make_config, read_config_file
from groundset.options import option_name
from programs.errors import InputError
from programs.recipes import RECIPES

DOCS = (Path("docs"),)


def test_options_override_file_and_defaults(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('documents = ["texts"]\nsize = 5\nmin-length = 10\nmix = "simple=1"\n')
    config = make_config({"size": 7, "seed": None}, file)
    assert config.size == 7
    assert config.min_length == 10
    assert config.options.mix == {"simple": 1}
    assert config.seed == 0
    assert config.documents == (tmp_path / "texts",)


def test_run_record_is_accepted_as_configuration(tmp_path):
    original = make_config({"documents": DOCS, "size": 3, "chunk_size": 500, "lm": "own.gguf"}).anchored()
    (tmp_path / "run.json").write_text(json.dumps({"configuration": original.to_dict(), "status": "x"}))
    assert make_config({}, tmp_path / "run.json").to_dict() == original.to_dict()
    assert original.lm == (str(Path("own.gguf").absolute()),)


PATHS = {"compiled": "states", "vector_store": "qdrant:vectors", "embedder": "./emb", "lm": "own.gguf"}
NAMES = {"compiled": "champion", "vector_store": "qdrant", "embedder": "all-minilm-l6-v2", "lm": "openai/a@http://b"}


def write_config(file: Path, options: dict[str, str]) -> Path:
    file.parent.mkdir(exist_ok=True)
    lines = [f'{name.replace("_", "-")} = "{value}"\n' for name, value in options.items()]
    file.write_text("".join(['documents = "texts"\n', *lines]))
    return file


@pytest.mark.parametrize(
    ("lm", "message"),
    [
        ([], r"^--lm \[\]: must not be empty$"),
        ([""], r"^--lm \[''\]: must not be empty$"),
        (3, r"^--lm 3: must be a text or a list of texts$"),
        ([3], r"^--lm \[3\]: must be a text$"),
    ],
)
def test_wrong_types_of_a_model(lm, message):
    with pytest.raises(InputError, match=message):
        make_config({"documents": DOCS, "lm": lm})


def test_several_servers_are_read_back(tmp_path):
    specs = ["openai/m@http://a/v1", "openai/m@servers.txt"]
    config = make_config({"documents": DOCS, "lm": specs}).anchored()
    assert config.to_dict()["lm"] == [specs[0], f"openai/m@{Path('servers.txt').absolute()}"]
    (tmp_path / "run.json").write_text(json.dumps({"configuration": config.to_dict()}))
    assert make_config({}, tmp_path / "run.json").lm == config.lm


def path_options(config: RunConfig) -> dict[str, str]:
    return {name: config.to_dict()[name] for name in PATHS}


def expected_paths(folder: Path) -> dict[str, str]:
    fields = {"compiled": f"{folder}/states", "vector_store": f"qdrant:{folder}/vectors"}
    return {**fields, "embedder": f"{folder}/emb", "lm": f"{folder}/own.gguf"}


def test_config_file_paths_are_relative_to_the_file(tmp_path, monkeypatch):
    file = write_config(tmp_path / "project" / "run.toml", PATHS)
    monkeypatch.chdir(tmp_path)
    for named in (file, file.relative_to(tmp_path)):
        assert path_options(make_config({}, named)) == expected_paths(file.parent)


@pytest.mark.parametrize("name", ["hf/org/tiny-GGUF/tiny.gguf", "hf/org/tiny-GGUF/tiny.gguf@v1"])
def test_hub_file_is_not_resolved_as_path(tmp_path, name):
    assert make_config({}, write_config(tmp_path / "run.toml", {"lm": name})).lm == (name,)
    assert make_config({"documents": DOCS, "lm": name}).anchored().lm == (name,)


def test_command_line_paths_are_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert path_options(make_config({"documents": DOCS, **PATHS}).anchored()) == expected_paths(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    at_home = {"compiled": "~/states", "vector_store": "qdrant:~/vectors", "embedder": "~/emb", "lm": "~/own.gguf"}
    assert path_options(make_config({"documents": DOCS, **at_home}).anchored()) == expected_paths(tmp_path / "home")


def test_names_are_not_resolved_as_paths_of_like_named_folders(tmp_path, monkeypatch):
    for name in NAMES.values():
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert path_options(make_config({}, write_config(tmp_path / "run.toml", NAMES)).anchored()) == NAMES
    (tmp_path / "mine" / "emb").mkdir(parents=True)
    config = make_config({"documents": DOCS, "embedder": "mine/emb"})
    assert config.anchored().embedder == str(tmp_path / "mine" / "emb")
    assert make_config({"documents": DOCS, "embedder": "mine/other"}).anchored().embedder == "mine/other"


def test_relative_paths_of_older_records_are_kept(tmp_path):
    fields = make_config({"documents": DOCS}).anchored().to_dict()
    (tmp_path / "run.json").write_text(json.dumps({"configuration": {**fields, **PATHS}}))
    assert path_options(make_config({}, tmp_path / "run.json")) == PATHS


def test_mix_can_be_a_toml_table(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('documents = "texts"\n[mix]\nsimple = 1\nreasoning = 0.5\n')
    assert make_config({}, file).options.mix == {"simple": 1, "reasoning": 0.5}


def test_texts_of_a_toml_file_are_beside_it(tmp_path):
    for name in ("queries.txt", "people.txt"):
        (tmp_path / name).write_text(f"from {name}\n")
    file = tmp_path / "run.toml"
    file.write_text('documents = "texts"\nlike = "queries.txt"\npersonas = ["a clerk", "people.txt"]\n')
    options = make_config({}, file).options
    assert (options.like, options.personas) == (("from queries.txt",), ("a clerk", "from people.txt"))
    file.write_text('documents = "texts"\npersonas = "people.txt"\n')
    assert make_config({}, file).options.personas == ("from people.txt",)
    file.write_text('documents = "texts"\nlike = "none.txt"\n')
    with pytest.raises(InputError, match=r"^--like .*none.txt: No such file"):
        make_config({}, file)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"personas": 3}, r"^--personas 3: "),
        ({"like": 3}, r"^--like 3: "),
        ({"size": 0}, r"^--size 0: "),
        ({"workers": 300}, r"^--workers 300: "),
        ({"mix": "simple"}, r"^--mix simple: "),
        ({"mix": "clever=1"}, r"^--mix clever=1: .*'clever'"),
        ({"recipe": "clever"}, r"^--recipe clever: no such recipe"),
        ({"splits": "a=1"}, r"^--splits: not an option of the recipe evolved, but of single"),
        ({"recipe": "multi", "min_chunks": "4"}, r"^--recipe multi: max-chunks \(3\)"),
        ({"recipe": "single", "splits": "a=0.5"}, r"^--splits a=0.5: "),
        ({"mix": "simple=x"}, r"the weight of simple is not a number: 'x'"),
        ({"mix": "simple=1,simple=2"}, r"simple is given twice"),
        ({"mix": "simple=0"}, r"one of them above 0"),
        ({"mix": "simple=-1"}, r"weights must be 0 or more"),
        ({"mix": "simple=nan"}, r"weights must be 0 or more"),
        ({"chunker": "clever"}, r"^--chunker clever: choose one of recursive, "),
        ({"chunk_size": 10, "chunk_overlap": 10}, r"^--chunk-overlap 10: must be smaller"),
        ({"chunks": Path("mine.csv")}, r"^--chunks mine.csv: "),
        ({"seed": -1}, r"^--seed -1: "),
        ({"size": 0, "merge": 0}, r"--merge 0: .*; --size 0: "),
    ],
)
def test_invalid_options_are_rejected(given, message):
    with pytest.raises(InputError, match=message):
        make_config({"documents": DOCS, **given})


def test_documents_or_chunks_are_required():
    with pytest.raises(InputError, match="no documents; name files"):
        make_config({"documents": ()})
    assert make_config({"chunks": Path("mine.jsonl")}).sources == (Path("mine.jsonl"),)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("run.toml", "chunksize = 3", r"there is no option chunksize; did you mean chunk-size\?"),
        ("run.toml", "size = ", r"not TOML"),
        ("run.toml", "size = 0", r"run.toml: size 0: "),
        ("run.toml", "[mix]\nclever = 1", r"no evolution is called 'clever'"),
        ("run.json", "{", r"not JSON"),
        ("run.json", "[]", r"holds no options"),
        pytest.param("run.json", "[" * 100_000, "nested too deep", id="deep JSON"),
        pytest.param("run.toml", "a = " + "[" * 100_000, "nested too deep", id="deep TOML"),
        ("run.json", '{"configuration": 3}', r"holds no options"),
    ],
)
def test_invalid_config_files_are_rejected(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        make_config({"documents": DOCS}, tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)


def test_missing_and_binary_files_are_rejected(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_config_file(tmp_path / "none.toml")
    (tmp_path / "run.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_config_file(tmp_path / "run.toml")


def test_oversized_config_files_are_rejected(tmp_path):
    (tmp_path / "run.toml").write_bytes(b"#" * ((8 << 20) + 1))
    with pytest.raises(InputError, match=r"^--config .*run\.toml: longer than 8 MB$"):
        read_config_file(tmp_path / "run.toml")
    with pytest.raises(InputError, match=r"^--config /dev/zero is a pipe or a device"):
        read_config_file(Path("/dev/zero"))


def test_command_options_match_config_and_recipe_fields():
    own = {parameter.name for parameter in generate_parameters(with_recipes=False)}
    others = {"out", "config", "track", "track_texts", "tracking", "verbose", "quiet", "engine"}
    assert own - others == set(RunConfig.model_fields) - {"lm_file", "critic_lm_file", "options"}
    added = {parameter.name for parameter in generate_parameters()} - own
    assert added == {name for recipe in RECIPES.values() for name in recipe.options.model_fields}
    assert option_name("chunk_size") == "--chunk-size"
