"""Weights from somebody else whose head or chat template ends, hangs or bloats the process that loads them."""

import hashlib
import json
import shutil
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
    """Ask weights to judge a question; say what is wrong with how they are refused."""
    (folder / "crafted.gguf").write_bytes(weights)
    row = {"passage": "The ferry to Brannock leaves at seven.", "question": "When does the ferry leave?"}
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    out, model = folder / "out.jsonl", folder / "crafted.gguf"
    asked = ("judge", "questions", folder / "rows.jsonl", "--critic", "lm", "--lm", model, "--out", out)
    outcome = target.run(*asked, seconds=_SECONDS, memory_mib=_CAP_MIB)
    return _fault(outcome, "crafted.gguf") or ("wrote a result" if out.exists() else "")


def _fault(outcome: Outcome, file: str) -> str:
    lines = [line for line in outcome.text.splitlines() if line.strip()]
    return outcome.fault(2, says=file) or (f"{len(lines)} lines" if len(lines) > 6 else "")


def _whole() -> bytes:
    return pull(_MODEL).read_bytes()


def _with_number(name: bytes, value: int) -> bytes:
    """Return the weights with another number of 32 bits in their head."""
    whole = bytearray(_whole())
    struct.pack_into("<I", whole, whole.index(name) + len(name) + 4, value)
    return bytes(whole)


def _with_template(template: str) -> bytes:
    """Return the weights with another chat template, filled up with spaces to the length of their own."""
    whole = bytearray(_whole())
    place = whole.index(_TEMPLATE) + len(_TEMPLATE) + 4
    (length,) = struct.unpack_from("<Q", whole, place)
    told = template.encode().ljust(length)
    if len(told) > length:
        raise ValueError("the template is longer than the one of the weights")
    whole[place + 8 : place + 8 + length] = told
    return bytes(whole)


def weights_with_two_billion_layers(target: Target, folder: Path) -> str:
    """Ask for memory for two billion layers, at which the runtime ends its process."""
    return _judge(target, folder, _with_number(b"llama.block_count", 2**31 - 1))


def weights_with_an_endless_embedding(target: Target, folder: Path) -> str:
    """Say that vectors have four billion numbers."""
    return _judge(target, folder, _with_number(b"llama.embedding_length", 2**32 - 1))


def weights_without_heads(target: Target, folder: Path) -> str:
    """Let the runtime divide by zero attention heads."""
    return _judge(target, folder, _with_number(b"llama.attention.head_count", 0))


def weights_whose_tokens_never_end(target: Target, folder: Path) -> str:
    """Say that there are more tokens than the file has bytes."""
    whole = bytearray(_whole())
    name = b"tokenizer.ggml.tokens"
    struct.pack_into("<Q", whole, whole.index(name) + len(name) + 8, 2**62)
    return _judge(target, folder, bytes(whole))


def weights_that_end_early(target: Target, folder: Path) -> str:
    """Cut the weights off behind their head."""
    return _judge(target, folder, _whole()[: 4 << 20])


def template_that_grows_without_end(target: Target, folder: Path) -> str:
    """Double a text as often as a template may: more memory than any machine has."""
    grow = "{% set a = namespace(s='xxxxxxxxxxxxxxxx') %}{% for i in range(99) %}{% set a.s = a.s ~ a.s %}{% endfor %}"
    return _judge(target, folder, _with_template(grow + "{{ a.s }}"))


def template_that_loops_without_end(target: Target, folder: Path) -> str:
    """Nest loops, each of which a sandbox would allow."""
    deep = "".join(f"{{% for {name} in range(99999) %}}" for name in "abcd")
    return _judge(target, folder, _with_template(deep + "{% endfor %}" * 4 + "x"))


def template_that_calls_itself(target: Target, folder: Path) -> str:
    """Let a macro call itself until the stack is full."""
    return _judge(target, folder, _with_template("{% macro m(a) %}{{ m(a) }}{% endmacro %}{{ m(1) }}"))


def template_that_grows_when_it_is_used(target: Target, folder: Path) -> str:
    """Do so only when there are messages, which a mere load does not have."""
    told = "{% if messages[0].content|length > 40 %}{% for a in range(99999) %}{% for b in range(99999) %}xxxxxxxx"
    return _judge(target, folder, _with_template(told + "{% endfor %}{% endfor %}{% endif %}{{ messages[0].content }}"))


def adapter_of_another_model(target: Target, folder: Path) -> str:
    """Put trained weights that do not fit beside a state that says they do."""
    return _adapter(target, folder, (_SHIPPED / "qwen2.5-coder-0.5b" / "sound.gguf").read_bytes())


def adapter_that_ends_early(target: Target, folder: Path) -> str:
    """Cut trained weights off; the state has the hash of what is left."""
    return _adapter(target, folder, (_SHIPPED / "qwen2.5-coder-0.5b" / "sound.gguf").read_bytes()[:9_000])


def adapter_that_is_no_adapter(target: Target, folder: Path) -> str:
    """Say that text is trained weights."""
    return _adapter(target, folder, b"GGUF but not at all\n" * 50)


def _adapter(target: Target, folder: Path, weights: bytes) -> str:
    """Generate with trained weights in a compiled state; say what is wrong with how they are refused."""
    (folder / "docs").mkdir()
    (folder / "docs" / "pier.txt").write_text(_DOCUMENT, encoding="utf-8")
    compiled = folder / "compiled" / _MODEL
    compiled.mkdir(parents=True)
    (compiled / "sound.gguf").write_bytes(weights)
    state = json.loads((_SHIPPED / "qwen2.5-coder-0.5b" / "sound.json").read_text(encoding="utf-8"))
    state |= {"model": _MODEL, "model_sha256": hashlib.sha256(_whole()).hexdigest()}
    state["adapter"]["sha256"] = hashlib.sha256(weights).hexdigest()
    (compiled / "sound.json").write_text(json.dumps(state), encoding="utf-8")
    asked = (
        "generate",
        folder / "docs",
        "--lm",
        _MODEL,
        "--compiled",
        folder / "compiled",
        "--size",
        "1",
        "--no-track",
    )
    outcome = target.run(*asked, "--out", folder / "run", seconds=_SECONDS, memory_mib=_CAP_MIB)
    left = "wrote a run" if (folder / "run").exists() else ""
    shutil.rmtree(folder / "run", ignore_errors=True)
    return _fault(outcome, "sound.gguf") or left


ATTACKS = (
    weights_with_two_billion_layers,
    weights_with_an_endless_embedding,
    weights_without_heads,
    weights_whose_tokens_never_end,
    weights_that_end_early,
    template_that_grows_without_end,
    template_that_loops_without_end,
    template_that_calls_itself,
    template_that_grows_when_it_is_used,
    adapter_of_another_model,
    adapter_that_ends_early,
    adapter_that_is_no_adapter,
)
