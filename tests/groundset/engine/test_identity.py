"""Run identities and mismatches."""

from pathlib import Path
from typing import Any

import pytest
from scripted_run import write_documents

from groundset.engine.config import RunConfig, choose_mode, make_config
from groundset.engine.identity import (
    ModelName,
    check_same,
    hash_sources,
    identity_digest,
    identity_of,
    with_models,
)
from programs.errors import InputError, RunMismatchError


def identity(config: RunConfig) -> dict[str, Any]:
    return identity_of(choose_mode(config).config)


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs", documents=2)


def test_identity_depends_only_on_options_that_affect_results(docs):
    first = identity(make_config({"documents": (docs,)}))
    assert first == identity(make_config({"documents": (docs,), "workers": 4, "chunk_size": 1000}))
    assert first == identity(make_config({"documents": (docs,), "mix": "simple=2,reasoning=0"}))
    for growing in ({"size": 21}, {"ask": "all"}):
        assert first == identity(make_config({"documents": (docs,), **growing})), growing
    for option, value in {"seed": 1, "mix": "simple=1,reasoning=1", "max_rank": 0, "chunk_size": 999}.items():
        assert first != identity(make_config({"documents": (docs,), option: value})), option


def test_document_hash_depends_on_names_and_bytes_not_location(docs, tmp_path):
    before = hash_sources((docs,))
    moved = docs.rename(tmp_path / "moved")
    assert hash_sources((moved,)) == before
    (moved / "image.bin").write_bytes(b"\0")
    assert hash_sources((moved,)) == before, "files that are not documents do not count"
    (moved / "doc0.md").write_text("other")
    assert hash_sources((moved,)) != before
    with pytest.raises(InputError, match="no such file"):
        hash_sources((docs,))


def test_chunk_file_hash_depends_on_contents(tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text('{"doc_id": "a", "contents": "x"}\n')
    before = hash_sources((file,))
    file.write_text('{"doc_id": "a", "contents": "y"}\n')
    assert hash_sources((file,)) != before


def test_models_are_identified_by_weights(tmp_path):
    catalogue = with_models({}, lm=ModelName("qwen", "aa"))
    path = with_models({}, lm=ModelName("/weights/qwen.gguf", "aa"))
    assert identity_digest(catalogue) == identity_digest(path)
    check_same(catalogue, path, tmp_path)
    with pytest.raises(RunMismatchError, match=r"--lm qwen \(aa\) \(now other \(bb\)\)"):
        check_same(catalogue, with_models({}, lm=ModelName("other", "bb")), tmp_path)
    with pytest.raises(RunMismatchError, match=r"--lm a/b \(now c/d\)"):
        check_same(with_models({}, lm=ModelName("a/b", None)), with_models({}, lm=ModelName("c/d", None)), tmp_path)


def test_mismatch_names_exactly_the_changed_options(docs, tmp_path):
    first = identity(make_config({"documents": (docs,)}))
    other = identity(make_config({"documents": (docs,), "seed": 4, "chunker": "word"}))
    with pytest.raises(RunMismatchError) as caught:
        check_same(first, other, tmp_path)
    message = str(caught.value)
    for piece in ("--seed 0 (now 4)", "--chunker recursive (now word)"):
        assert piece in message
    assert "--mix" not in message
    assert caught.value.exit_code == 2
    mixed = make_config({"documents": (docs,), "mix": "simple=1,reasoning=1"})
    with pytest.raises(RunMismatchError, match=r"--mix simple=1.0 \(now simple=0.5,reasoning=0.5\)"):
        check_same(first, identity(mixed), tmp_path)


def test_identity_covers_all_options_except_known_ones(docs):
    known = {
        "lm",
        "lm_file",
        "critic_lm",
        "critic_lm_file",
        "timeout",
        "retries",
        "budget_calls",
        "budget_tokens",
        "price",
    }
    known |= {"chunks", "embedder", "parser", "compiled", "workers", "vector_store", "options", "size"}
    config = make_config({"documents": (docs,)})
    options = set(type(config.options).model_fields) - {"ask"}
    assert set(identity_of(config)) == set(RunConfig.model_fields) - known | {"program"} | options


def test_mismatch_compares_program_hash_not_version(docs, tmp_path):
    first = identity(make_config({"documents": (docs,)}))
    check_same({**first, "program": {**first["program"], "name": "0.0.1"}}, first, tmp_path)
    with pytest.raises(RunMismatchError, match=r"another version of groundset \(0.0.1 \(abc\), now "):
        check_same({**first, "program": {"name": "0.0.1", "sha256": "abc"}}, first, tmp_path)
