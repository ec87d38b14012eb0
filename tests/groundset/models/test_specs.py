import hashlib

import pytest

from groundset.models import HostedSpec, LocalSpec, OpenAISpec, ensure_available, parse_spec
from groundset.models.specs import receiver
from programs.errors import ModelError, UnknownModelError


def test_catalogue_name(home):
    spec = parse_spec(" qwen2.5-coder-0.5b ")
    assert isinstance(spec, LocalSpec)
    assert spec.path == home / "models" / "qwen2.5-coder-0.5b" / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
    assert spec.sha256.startswith("1d9614638d18")
    assert spec.name == "qwen2.5-coder-0.5b"
    assert not home.exists()


def test_local_weights(tmp_path, monkeypatch):
    path = tmp_path / "mine.GGUF"
    path.write_bytes(b"GGUF and more")
    digest = hashlib.sha256(b"GGUF and more").hexdigest()
    assert parse_spec(str(path)) == LocalSpec(path, digest, "mine.GGUF")
    monkeypatch.chdir(tmp_path)
    spec = parse_spec("./mine.GGUF")
    assert spec == LocalSpec(path, digest, "mine.GGUF")
    ensure_available(spec)
    path.write_bytes(b"GGUF but other")
    with pytest.raises(ModelError, match="was changed or deleted"):
        ensure_available(spec)


@pytest.mark.parametrize(
    ("text", "model", "url"),
    [
        ("openai/qwen2.5:0.5b@http://localhost:11434/v1", "qwen2.5:0.5b", "http://localhost:11434/v1"),
        ("openai/Qwen/Qwen3@https://vllm.example/v1/", "Qwen/Qwen3", "https://vllm.example/v1"),
        ("openai/m@q4_k.gguf@http://[::1]:1234/v1", "m@q4_k.gguf", "http://[::1]:1234/v1"),
    ],
)
def test_servers(text, model, url):
    spec = parse_spec(text)
    assert spec == OpenAISpec(model, url)
    assert spec.name == f"openai/{model}@server"


@pytest.mark.parametrize(
    ("host", "is_local"),
    [
        ("localhost:80", True),
        ("LOCALHOST.", True),
        ("gpu.localhost", True),
        ("127.0.0.1:8080", True),
        ("127.9.9.9", True),
        ("[::1]:8080", True),
        ("[::ffff:127.0.0.1]", True),
        ("localhost.example.org", False),
        ("127.0.0.1.example.org", False),
        ("192.168.0.7:8080", False),
        ("[::2]", False),
        ("0.0.0.0:80", False),
    ],
)
def test_texts_stay_on_this_machine_only_at_a_loopback_address(host, is_local):
    spec = parse_spec(f"openai/m@http://{host}/v1")
    assert isinstance(spec, OpenAISpec)
    assert spec.is_local is is_local
    assert receiver(spec) == (None if is_local else host)


def test_receiver_of_other_models(monkeypatch):
    monkeypatch.delenv("OPENAI_API_BASE", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert receiver(parse_spec("qwen2.5-coder-0.5b")) is None
    assert receiver(parse_spec("openai/gpt-5-mini")) == "openai, which hosts openai/gpt-5-mini"
    monkeypatch.setenv("OPENAI_BASE_URL", "https://me:key@gateway.example/v1")
    assert receiver(parse_spec("openai/gpt-5-mini")) == "gateway.example/v1 (OPENAI_BASE_URL), for openai/gpt-5-mini"


@pytest.mark.parametrize("text", ["openai/gpt-5-mini", "anthropic/claude", "ollama_chat/qwen2.5:0.5b", "a/b/c"])
def test_hosted(text):
    assert parse_spec(text) == HostedSpec(text)
    assert parse_spec(text).name == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("qwen2.5-coder-0.5", r"did you mean qwen2\.5-coder-0\.5b"),
        ("", "unknown model ''"),
        ("gpt-5", r"unknown model 'gpt-5'; use"),
        ("all-minilm-l6-v2", "is an embedder"),
        ("nowhere/weights.gguf", "nowhere/weights.gguf cannot be read: No such file"),
        ("./folder/model", "not a path to a .gguf file"),
        ("openai/m@localhost:8080", "must start with http"),
        ("openai/m@ftp://host/v1", "not a base URL"),
        ("openai/m@http://", "not a base URL"),
        ("openai/m@http://[::1", r"'http://\[::1': not a base URL"),
        ("openai/m@http://me:key@[::1", r"'http://\[::1': not a base URL"),
        ("openai/m@http://[zz]/v1", "not a base URL"),
        ("openai/m@http://host:port/v1", "not a base URL"),
        ("openai/m@http://host:99999/v1", "not a base URL"),
        ("openai/m@http://host:0/v1", "not a base URL"),
        ("openai/m@http://ho st/v1", "not a base URL"),
        ("openai/m@https://me:key@host/v1", "must not contain credentials"),
        ("openai/m@https://host/v1?key=1", "must not contain credentials"),
        ("two words/model", "unknown model"),
    ],
)
def test_invalid_specifications(text, message):
    with pytest.raises(UnknownModelError, match=message) as caught:
        parse_spec(text)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
    assert "key@" not in str(caught.value)


def test_file_that_is_not_gguf(tmp_path):
    path = tmp_path / "fake.gguf"
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(UnknownModelError, match="is not a GGUF file"):
        parse_spec(str(path))
    path.unlink()
    path.mkdir()
    with pytest.raises(UnknownModelError, match="cannot be read"):
        parse_spec(str(path))
