"""Untrusted weights whose header or chat template crashes, blocks or bloats the process that loads them."""

import hashlib
import json
import struct
from pathlib import Path

from attacks.target import Outcome, Target
from groundset.models import pull

_SHIPPED = Path(__file__).resolve().parents[2] / "data" / "compiled"
_MODEL = "smollm2-135m"
_TEMPLATE = b"tokenizer.chat_template"
_CAP_MIB = 6_000
_SECONDS = 150
_DOCUMENT = "Brannock pier was opened in 1931. The ferry leaves it at seven each morning, and carries mail. " * 12


def _judge(target: Target, folder: Path, weights: bytes) -> str:
    """Judge a question with weights that must be rejected; return the fault."""
    (folder / "crafted.gguf").write_bytes(weights)
    row = {"passage": "The ferry to Brannock leaves at seven.", "question": "When does the ferry leave?"}
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    out, model = folder / "out.jsonl", folder / "crafted.gguf"
    arguments = ("judge", "questions", folder / "rows.jsonl", "--critic", "lm", "--lm", model, "--out", out)
    outcome = target.run(*arguments, seconds=_SECONDS, memory_mib=_CAP_MIB)
    return _fault(outcome, "crafted.gguf") or ("wrote a result" if out.exists() else "")


def _fault(outcome: Outcome, file: str) -> str:
    lines = [line for line in outcome.text.splitlines() if line.strip()]
    return outcome.fault(2, message=file) or (f"{len(lines)} lines" if len(lines) > 6 else "")


def _valid() -> bytes:
    return pull(_MODEL).read_bytes()


def _with_number(name: bytes, value: int) -> bytes:
    """Return weights with another 32-bit number in their header."""
    data = bytearray(_valid())
    struct.pack_into("<I", data, data.index(name) + len(name) + 4, value)
    return bytes(data)


def _with_template(template: str) -> bytes:
    """Return weights with another chat template, padded with spaces to the original length."""
    data = bytearray(_valid())
    place = data.index(_TEMPLATE) + len(_TEMPLATE) + 4
    (length,) = struct.unpack_from("<Q", data, place)
    padded = template.encode().ljust(length)
    if len(padded) > length:
        raise ValueError("the template is longer than the original one")
    data[place + 8 : place + 8 + length] = padded
    return bytes(data)


def weights_with_two_billion_layers(target: Target, folder: Path) -> str:
    """Declare two billion layers, which makes the runtime abort."""
    return _judge(target, folder, _with_number(b"llama.block_count", 2**31 - 1))


def weights_with_a_huge_embedding(target: Target, folder: Path) -> str:
    """Declare vectors of four billion numbers."""
    return _judge(target, folder, _with_number(b"llama.embedding_length", 2**32 - 1))


def weights_without_heads(target: Target, folder: Path) -> str:
    """Declare zero attention heads, which makes the runtime divide by zero."""
    return _judge(target, folder, _with_number(b"llama.attention.head_count", 0))


def weights_with_too_many_tokens(target: Target, folder: Path) -> str:
    """Declare more tokens than the file has bytes."""
    data = bytearray(_valid())
    name = b"tokenizer.ggml.tokens"
    struct.pack_into("<Q", data, data.index(name) + len(name) + 8, 2**62)
    return _judge(target, folder, bytes(data))


def truncated_weights(target: Target, folder: Path) -> str:
    """Truncate the weights after their header."""
    return _judge(target, folder, _valid()[: 4 << 20])


def template_that_grows(target: Target, folder: Path) -> str:
    """Double a text until it needs more memory than any machine has."""
    grow = "{% set a = namespace(s='xxxxxxxxxxxxxxxx') %}{% for i in range(99) %}{% set a.s = a.s ~ a.s %}{% endfor %}"
    return _judge(target, folder, _with_template(grow + "{{ a.s }}"))


def template_with_nested_loops(target: Target, folder: Path) -> str:
    """Nest loops, each of which a sandbox would allow."""
    deep = "".join(f"{{% for {name} in range(99999) %}}" for name in "abcd")
    return _judge(target, folder, _with_template(deep + "{% endfor %}" * 4 + "x"))


def template_that_calls_itself(target: Target, folder: Path) -> str:
    """Make a macro call itself until the stack overflows."""
    return _judge(target, folder, _with_template("{% macro m(a) %}{{ m(a) }}{% endmacro %}{{ m(1) }}"))


def template_that_grows_with_messages(target: Target, folder: Path) -> str:
    """Loop only when there are messages, which loading does not need."""
    start = "{% if messages[0].content|length > 40 %}{% for a in range(99999) %}{% for b in range(99999) %}xxxxxxxx"
    return _judge(
        target, folder, _with_template(start + "{% endfor %}{% endfor %}{% endif %}{{ messages[0].content }}")
    )


def adapter_of_another_model(target: Target, folder: Path) -> str:
    """Use an adapter of another model in a compiled state."""
    return _adapter(target, folder, (_SHIPPED / "qwen2.5-coder-0.5b" / "sound.gguf").read_bytes())


def truncated_adapter(target: Target, folder: Path) -> str:
    """Use a truncated adapter, with a matching hash in the state."""
    return _adapter(target, folder, (_SHIPPED / "qwen2.5-coder-0.5b" / "sound.gguf").read_bytes()[:9_000])


def text_as_adapter(target: Target, folder: Path) -> str:
    """Use a text as adapter."""
    return _adapter(target, folder, b"GGUF but not at all\n" * 50)


def _adapter(target: Target, folder: Path, weights: bytes) -> str:
    """Generate with an adapter in a compiled state, which must be rejected; return the fault."""
    (folder / "docs").mkdir()
    (folder / "docs" / "pier.txt").write_text(_DOCUMENT, encoding="utf-8")
    compiled = folder / "compiled" / _MODEL
    compiled.mkdir(parents=True)
    (compiled / "sound.gguf").write_bytes(weights)
    state = json.loads((_SHIPPED / "qwen2.5-coder-0.5b" / "sound.json").read_text(encoding="utf-8"))
    state |= {"model": _MODEL, "model_sha256": hashlib.sha256(_valid()).hexdigest()}
    state["adapter"]["sha256"] = hashlib.sha256(weights).hexdigest()
    (compiled / "sound.json").write_text(json.dumps(state), encoding="utf-8")
    arguments = (
        "--lm",
        _MODEL,
        "--compiled",
        folder / "compiled",
        "--size",
        "1",
        "--no-track",
        "--out",
        folder / "run",
    )
    outcome = target.run("generate", folder / "docs", *arguments, seconds=_SECONDS, memory_mib=_CAP_MIB)
    return _fault(outcome, "sound.gguf") or ("wrote a run" if (folder / "run").exists() else "")


ATTACKS = (
    weights_with_two_billion_layers,
    weights_with_a_huge_embedding,
    weights_without_heads,
    weights_with_too_many_tokens,
    truncated_weights,
    template_that_grows,
    template_with_nested_loops,
    template_that_calls_itself,
    template_that_grows_with_messages,
    adapter_of_another_model,
    truncated_adapter,
    text_as_adapter,
)
