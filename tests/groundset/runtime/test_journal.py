"""The journal stores each call once."""

import dataclasses
from pathlib import Path

import pytest
from dspy.lm15 import Config, Message, Request, Response, ServerError, TokenLogprob, TopLogprob, Usage

from groundset.runtime.journal import JournaledEngine, MemoryJournal, digest_of, evaluated_tokens
from groundset.store.run_store import RunStore


class CountingEngine:
    def __init__(self) -> None:
        self.calls = 0
        self.error: Exception | None = None

    def complete(self, request: Request) -> Response:
        self.calls += 1
        if self.error:
            raise self.error
        return Response(
            id="1",
            model=request.model,
            message=Message.assistant(f"answer {self.calls}"),
            finish_reason="stop",
            usage=Usage(input_tokens=40, output_tokens=3, total_tokens=43, cache_read_tokens=30),
            logprobs=(TokenLogprob(token="a", logprob=-0.5, top=(TopLogprob(token="b", logprob=-1.0),)),),
        )


def ask(text: str = "Hello", **config: object) -> Request:
    return Request(model="local/x", messages=(Message.user(text),), config=Config(**config))


def test_finished_call_is_replayed_by_a_new_engine() -> None:
    journal, engine = MemoryJournal(), CountingEngine()
    first = JournaledEngine(engine, journal).complete(ask())
    again = JournaledEngine(engine, journal)
    second = again.complete(ask())
    assert engine.calls == 1
    assert second.message.text == first.message.text == "answer 1"
    assert second.logprobs == first.logprobs
    assert second.usage == dataclasses.replace(first.usage)
    assert again.usage()["calls"] == 0
    assert again.usage()["replayed"] == 1


class SurrogateEngine(CountingEngine):
    """Returns lone surrogates, like servers that split an emoji."""

    def complete(self, request: Request) -> Response:
        logprobs = (TokenLogprob(token="\ud83d", logprob=-0.5, top=(TopLogprob(token="\ude00", logprob=-1.0),)),)
        message = Message.assistant("The ferry \ud83d")
        return dataclasses.replace(super().complete(request), message=message, logprobs=logprobs)


def test_lone_surrogates_are_replaced(tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "run", meta={}, documents=[], chunks=[]) as store:
        engine = JournaledEngine(SurrogateEngine(), store.calls)
        first, second = engine.complete(ask()), engine.complete(ask())
    assert engine.usage()["replayed"] == 1
    assert first == second
    assert first.message.text == "The ferry \ufffd"
    assert first.logprobs == (TokenLogprob("\ufffd", -0.5, top=(TopLogprob("\ufffd", -1.0),)),)


def test_usage_counts_evaluated_prompt_tokens() -> None:
    engine = JournaledEngine(CountingEngine(), MemoryJournal())
    engine.complete(ask("one"))
    engine.complete(ask("two"))
    usage = engine.usage()
    assert usage.items() >= {"calls": 2, "prompt_tokens": 80, "evaluated_tokens": 20, "completion_tokens": 6}.items()
    assert evaluated_tokens(Usage(input_tokens=5, output_tokens=1, total_tokens=6)) == 5


def test_errors_are_not_stored() -> None:
    inner = CountingEngine()
    engine = JournaledEngine(inner, MemoryJournal())
    inner.error = ServerError("down")
    with pytest.raises(ServerError):
        engine.complete(ask())
    inner.error = None
    assert engine.complete(ask()).message.text == "answer 2"


@pytest.mark.parametrize(
    "other",
    [
        ask("Other"),
        ask(seed=2),
        ask(temperature=0.5),
        ask(max_tokens=9),
        ask(stop=("\n",)),
        dataclasses.replace(ask(), model="local/y"),
        dataclasses.replace(ask(), system="Be brief."),
    ],
)
def test_digest_depends_on_model_texts_and_sampling(other: Request) -> None:
    assert digest_of(other) != digest_of(ask())
    assert digest_of(ask()) == digest_of(ask())
