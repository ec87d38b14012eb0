"""The embedded engine with the real runtime and the smallest model."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dspy
import pytest
from dspy.lm15 import Config, ContextLengthError, InvalidRequestError, Message, Request
from dspy.utils.exceptions import ContextWindowExceededError

from groundset.runtime.embedded import AsyncEngine, EmbeddedEngine
from groundset.runtime.lms import LanguageModel, open_lm
from programs.critics.logprobs import LogprobCritic
from programs.deciding import decide
from programs.errors import EngineError
from signatures.judge import JudgeQuestion

pytestmark = pytest.mark.model
LONG_SYSTEM = "You answer questions about harbours, bridges and ferries in one short sentence. " * 8


@pytest.fixture(scope="module")
def engine(smollm2: Path) -> Iterator[EmbeddedEngine]:
    opened = EmbeddedEngine(smollm2, context_tokens=1024)
    yield opened
    opened.close()


def ask(text: str, **config: object) -> Request:
    settings = {"max_tokens": 12, "temperature": 0.8, "seed": 1, **config}
    return Request(model="local/x", messages=(Message.user(text),), system=LONG_SYSTEM, config=Config(**settings))


def test_text_depends_on_the_seed_but_not_on_earlier_calls(engine: EmbeddedEngine) -> None:
    texts = [f"Name ferry number {i}." for i in range(6)]
    # Rounding depends on how many tokens are evaluated at once, so evaluate the prefix first.
    engine.complete(ask("Name a ferry."))
    forward = {text: engine.complete(ask(text)).message.text for text in texts}
    backward = {text: engine.complete(ask(text)).message.text for text in reversed(texts)}
    assert forward == backward
    other = [engine.complete(ask(texts[0], seed=seed)).message.text for seed in range(2, 6)]
    assert any(text != forward[texts[0]] for text in other)


def test_usage_counts_cached_tokens(engine: EmbeddedEngine) -> None:
    engine.complete(ask("What is a quay?"))
    usage = engine.complete(ask("What is a buoy?")).usage
    assert usage.input_tokens > 100
    assert usage.cache_read_tokens > 0.8 * usage.input_tokens
    assert 0 < usage.output_tokens <= 12


def test_stop_sequences_and_token_limits(engine: EmbeddedEngine) -> None:
    limited = engine.complete(ask("Count from one to fifty.", max_tokens=5))
    assert limited.usage.output_tokens == 5
    assert limited.finish_reason == "length"
    full = engine.complete(ask("Say hello.", temperature=0.0)).message.text
    letter = full[3]
    stopped = engine.complete(ask("Say hello.", temperature=0.0, stop=(letter,))).message.text
    assert letter not in stopped


def test_too_long_prompt(engine: EmbeddedEngine) -> None:
    with pytest.raises(ContextLengthError, match="context"):
        engine.complete(ask("word " * 2000))
    lm = dspy.LM("local/x", engine=engine, async_engine=AsyncEngine(engine), cache=False)
    with pytest.raises(ContextWindowExceededError):
        lm(dspy.lm15.Request(model="local/x", messages=(Message.user("word " * 2000),)))


def test_concurrent_and_asynchronous_calls(smollm2: Path) -> None:
    engine = EmbeddedEngine(smollm2, workers=3, context_tokens=512)
    try:
        requests = [ask(f"Name harbour number {i}.", max_tokens=6) for i in range(6)]
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(engine.complete, requests))
        assert all(answer.usage.output_tokens for answer in answers)
        asynchronous = AsyncEngine(engine)

        async def both() -> list[object]:
            return await asyncio.gather(*(asynchronous.complete(request) for request in requests[:2]))

        assert len(asyncio.run(both())) == 2
        assert [event.type for event in engine.stream(requests[0])][-1] == "end"
    finally:
        engine.close()


def test_invalid_request_and_weights(engine: EmbeddedEngine, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError):
        engine.complete(ask("Hello", extensions={"grammar": "root ::= ("}))
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 64)
    with pytest.raises(EngineError, match=r"broken\.gguf"):
        EmbeddedEngine(broken)


def test_engine_can_be_closed_right_after_opening(smollm2: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from groundset.runtime.embedded import EmbeddedEngine\n"
        "for _ in range(8): EmbeddedEngine(Path(sys.argv[1]), context_tokens=256).close()"
    )
    subprocess.run([sys.executable, "-c", code, str(smollm2)], check=True, timeout=120)


def test_runtime_logs_only_if_verbose(smollm2: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from groundset.runtime.embedded import EmbeddedEngine\n"
        "engine = EmbeddedEngine(Path(sys.argv[1]), context_tokens=256, verbose=sys.argv[2] == 'v')\n"
        "engine.close()"
    )
    ran = {
        flag: subprocess.run(
            [sys.executable, "-c", code, str(smollm2), flag], capture_output=True, check=True, env=os.environ
        )
        for flag in ("q", "v")
    }
    assert ran["q"].stdout == b""
    assert ran["q"].stderr == b""
    assert b"model" in ran["v"].stderr


def test_lm_critic_uses_log_probabilities(engine: EmbeddedEngine) -> None:
    model = LanguageModel(engine, model="local/x", name="x", sha256=None, journal=None)
    decision = decide(
        dspy.Predict(JudgeQuestion),
        LogprobCritic(model.lm),
        passage="The bridge was opened in 1931.",
        question="When was the bridge opened?",
    )
    assert set(decision.probabilities) == {"fit", "independent", "clear", "answerable"}
    assert all(0 < p < 1 for p in decision.probabilities.values())
    assert model.usage()["calls"] == 4


def test_model_string_contains_the_hash(smollm2: Path) -> None:
    with open_lm("smollm2-135m") as model:
        assert model.sha256 is not None
        assert model.lm.model == f"local/{model.sha256[:16]}"
        assert model.name == "smollm2-135m"
