"""llama.cpp in this process, with the smallest model."""

import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from dspy.lm15 import Config, ContextLengthError, InvalidRequestError, Message, Request
from refusal import refuses
from scripted import response

from groundset.models.journal import Engine
from groundset.models.llama import LlamaModel
from groundset.models.texts import COMMON_TOKENS, ControlTokens, special_tokens
from groundset.programs.errors import ModelError, UnknownModelError

pytestmark = pytest.mark.model
LONG_SYSTEM = "You answer questions about harbours, bridges and ferries in one short sentence. " * 8


def ask(text, **config):
    options = {"max_tokens": 8, "temperature": 0.8, "seed": 1, **config}
    return Request(
        model="local/x",
        messages=(Message.user(text),),
        system=LONG_SYSTEM,
        config=Config(**options),
    )


def test_a_text_depends_on_the_seed_but_not_on_earlier_calls(llama):
    texts = [f"Name ferry number {i}." for i in range(3)]
    # Rounding depends on how many tokens are evaluated at once, so the prefix is evaluated first.
    llama.complete(ask("Name a ferry."))
    forward = {text: llama.complete(ask(text)).message.text for text in texts}
    backward = {text: llama.complete(ask(text)).message.text for text in reversed(texts)}
    assert forward == backward
    assert {llama.complete(ask(texts[0], seed=seed)).message.text for seed in (2, 3)} != {
        forward[texts[0]]
    }


def test_the_prefix_stays_warm_and_limits_hold(llama):
    llama.complete(ask("What is a quay?"))
    answer = llama.complete(ask("Count from one to fifty.", max_tokens=5))
    assert answer.usage.cache_read_tokens > 0.8 * answer.usage.input_tokens > 80
    assert answer.usage.output_tokens == 5
    assert answer.finish_reason == "length"
    letter = llama.complete(ask("Say hello.", temperature=0.0)).message.text[3]
    assert (
        letter
        not in llama.complete(ask("Say hello.", temperature=0.0, stop=(letter,))).message.text
    )


def test_log_probabilities_pass_through_the_journal(llama):
    asked = ask("Is a quay a wall? Answer yes or no.", max_tokens=1, temperature=0.0, logprobs=5)
    engine = Engine("x", llama)
    first = engine.complete(asked)
    assert len(first.logprobs) == 1
    assert len(first.logprobs[0].top) == 5
    assert (
        first.logprobs[0].top[0].logprob == max(top.logprob for top in first.logprobs[0].top) <= 0
    )
    assert engine.complete(asked) == first
    assert engine.usage()["calls"] == 1


def test_what_cannot_be_answered(llama, tmp_path):
    with pytest.raises(ContextLengthError, match="context"):
        llama.complete(ask("word " * 2000))
    with pytest.raises(InvalidRequestError):
        llama.complete(ask("Hello", extensions={"grammar": "root ::= ("}))
    with pytest.raises(InvalidRequestError, match="the model has no adapter sound; it has none"):
        llama.complete(ask("Hello", extensions={"adapter": "sound"}))
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 64)
    with refuses(r"broken\.gguf: llama\.cpp cannot load", ModelError):
        LlamaModel(broken)
    kinds = b"tokenizer.ggml.token_type"
    endless = struct.pack(f"<Q{len(kinds)}sIIQ", len(kinds), kinds, 9, 5, 2**60)
    for content in (b"GGML", b"GGUF" + endless):
        broken.write_bytes(content)
        with refuses("is not a usable GGUF file", UnknownModelError):
            special_tokens(broken)


def test_several_workers(smollm2):
    model = LlamaModel(smollm2, workers=2, context_tokens=256)
    with ThreadPoolExecutor(3) as pool:
        answers = list(
            pool.map(model.complete, [ask(f"Name harbour {i}.", max_tokens=3) for i in range(3)])
        )
    model.close()
    assert all(answer.usage.output_tokens for answer in answers)


def test_the_log_is_printed_only_if_asked_for_and_closing_at_once_returns(smollm2):
    code = (
        "import sys; from pathlib import Path; from groundset.models.llama import LlamaModel\nfor _"
        " in range(2): LlamaModel(Path(sys.argv[1]), context_tokens=256, verbose=sys.argv[2] =="
        " 'v').close()"
    )
    command = [sys.executable, "-c", code, str(smollm2)]
    quiet, verbose = (
        subprocess.run([*command, flag], capture_output=True, check=True) for flag in "qv"
    )
    assert quiet.stdout + quiet.stderr == b""
    assert b"model" in verbose.stderr


def test_control_tokens_of_the_model_are_ordinary_text(llama, smollm2):
    def count(text, complete):
        turn = Request(model="local/x", messages=(Message.user(text),), config=Config(max_tokens=1))
        return int(complete(turn).usage.input_tokens)

    special = special_tokens(smollm2)
    assert {"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>"} <= set(special)
    plain = count("Turns:", llama.complete)
    for token in special[:3]:
        text = "Turns:" + token * 8
        assert count(text, llama._complete) == plain + 8
        assert count(text, llama.complete) >= plain + 16, token


NAMED = (
    "<|im_end|>",
    "<｜end▁of▁sentence｜>",
    "<|START_OF_TURN_TOKEN|>",
    "[|endofturn|]",
    "]~b]",
    "<seed:eos>",
    "<turn|>",
)


@pytest.mark.parametrize("token", [*NAMED, *COMMON_TOKENS])
def test_tokens_are_escaped_and_restored(token):
    text = f"The turn ends with {token}{token}, they say."
    seen = []

    def echo(request):
        seen.extend([str(request.system), *(str(message.text) for message in request.messages)])
        return response(request.messages[-1].text or "")

    asked = Request(
        model="x", system=f"Say {token}", messages=(Message.user(text), Message.assistant(text))
    )
    assert ControlTokens().guard(asked, echo).message.text == text
    assert all(token not in prompt and f"{token[0]} {token[1:]}" in prompt for prompt in seen)


def test_nested_tokens_and_ordinary_text():
    tokens = ControlTokens(["<a><b>", "a><b>", "<b>", "<<|x|>>", "  ", "▁▁", "x", ""])
    for text in ("<a><b>", "<<|x|>>", "<|<|im_end|>|>", "<tool_<tool_call>call>"):
        escaped = tokens.escape(text)
        assert tokens.escape(escaped) == escaped != text
    text = "a  b\n\n<i>bold</i> 1 <2> |> <|> <| x |> [1] x▁▁y a|b|c [x](y)"
    assert tokens.escape(text) == text
