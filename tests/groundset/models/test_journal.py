"""Each call is paid for once, and what DSPy asks for on purpose is asked for."""

import asyncio
import dataclasses
import json
import time
from concurrent.futures import ThreadPoolExecutor

import dspy
import pytest
from dspy.lm15 import Config, Message, Request, Response, ServerError, Usage

from groundset.models.journal import Engine, MemoryJournal, Variants
from groundset.models.open import AsyncEngine


class Counting:
    """Answers with the number of the call, and its seed."""

    def __init__(self):
        self.seeds = []
        self.error = None
        self.text = "answer"
        self.delay = 0.0

    def complete(self, request):
        time.sleep(self.delay)
        if self.error:
            raise self.error
        self.seeds.append(request.config.seed)
        usage = Usage(input_tokens=40, output_tokens=3, total_tokens=43, cache_read_tokens=30)
        message = Message.assistant(f"{self.text} {len(self.seeds)}")
        return Response(
            id="1", model=request.model, message=message, finish_reason="stop", usage=usage
        )

    def close(self):
        pass


def ask(text="Hello", **config):
    return Request(model="local/x", messages=(Message.user(text),), config=Config(**config))


def test_a_finished_call_is_answered_from_the_journal():
    journal, model = MemoryJournal(), Counting()
    model.text = "The ferry \ud83d"
    first = Engine("x", model, journal).complete(ask())
    again = Engine("x", model, journal)
    assert again.complete(ask()) == first
    assert first.message.text == "The ferry \ufffd 1"  # what no file can hold is replaced
    again.complete(ask("Other"))
    usage = again.usage()
    assert 0 < usage.pop("seconds") < 1
    assert usage == {
        "calls": 1,
        "prompt_tokens": 40,
        "cached_tokens": 30,
        "generated_tokens": 3,
    }
    assert json.loads(next(iter(journal.values())))["prompt_tokens"] == 40


def test_a_call_made_twice_at_the_same_time_is_paid_once():
    model = Counting()
    model.delay = 0.1
    engine = Engine("x", model)
    with ThreadPoolExecutor(8) as pool:
        texts = {answer.message.text for answer in pool.map(engine.complete, [ask()] * 8)}
    assert texts == {"answer 1"}
    assert engine.usage()["calls"] == 1


def test_a_failure_is_not_stored_and_reaches_all_who_wait():
    model = Counting()
    model.error, model.delay = ServerError("down"), 0.05
    engine = Engine("x", model)
    with ThreadPoolExecutor(3) as pool:
        failures = [pool.submit(engine.complete, ask()) for _ in range(3)]
    assert {type(each.exception()) for each in failures} == {ServerError}
    model.error = None
    assert engine.complete(ask()).message.text == "answer 1"


@pytest.mark.parametrize(
    "other",
    [
        ask("Other"),
        ask(seed=2),
        ask(temperature=0.5),
        ask(max_tokens=9),
        ask(stop=("\n",)),
        ask(extensions={"adapter": "sound"}),
        dataclasses.replace(ask(), model="local/y"),
        dataclasses.replace(ask(), system="Be brief."),
    ],
)
def test_another_request_is_another_call(other):
    engine = Engine("x", Counting())
    engine.complete(ask())
    engine.complete(other)
    assert engine.usage()["calls"] == 2


def test_other_weights_of_an_adapter_are_another_call():
    journal, model = MemoryJournal(), Counting()
    for sha256 in ("a" * 64, "b" * 64, "a" * 64):
        Engine("x", model, journal, {"sound": sha256}).complete(
            ask(extensions={"adapter": "sound"})
        )
    assert len(model.seeds) == 2


def test_candidates_and_rollouts_are_calls_of_their_own():
    model = Counting()
    engine = Engine("x", model)
    lm = dspy.LM("local/x", engine=engine, cache=False, callbacks=[Variants()])
    assert lm("Hello", n=2) == ["answer 1", "answer 2"]
    assert lm("Hello", n=2) == ["answer 1", "answer 2"]
    assert lm("Hello") == ["answer 1"]
    assert (
        lm("Hello", rollout_id=1, temperature=1.0)
        == lm("Hello", rollout_id=1, temperature=1.0)
        == ["answer 3"]
    )
    assert lm.copy(rollout_id=2, temperature=1.0)("Hello") == ["answer 4"]
    lm("Hello", n=3, seed=5)
    assert model.seeds == [None] * 4 + [5, 6, 7]
    assert engine.complete(ask()).message.text == "answer 1"


def test_asynchronous_and_streamed_calls():
    engine = Engine("x", Counting())
    lm = dspy.LM("local/x", engine=engine, async_engine=AsyncEngine(engine), cache=False)
    assert asyncio.run(lm.acall("Hello")) == lm("Hello") == ["answer 1"]
    assert [event.type for event in engine.stream(ask())][-1] == "end"
