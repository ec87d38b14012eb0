"""Models on servers: thoughts are cut, what is refused is left out, and failures say what to do."""

import socket
import threading
import time

import dspy
import pytest
from dspy.lm15 import Config, Message, Request
from dspy.utils.exceptions import LMInvalidRequestError
from model_server import serving, wrote
from refusal import refuses

from groundset.models.journal import FailingModelError
from groundset.models.open import open_model
from groundset.models.server import NoAnswerError
from groundset.programs.errors import UnreachableModelError

ERROR = {"error": {"message": "no", "type": "invalid_request_error"}}
PROBE = "Hi"


def ask(answer, text="What is a quay?", **options):
    """Ask once; return what was written, the last request and what was said about it."""
    said = []
    with (
        serving(answer) as server,
        open_model(server.spec, notify=said.append, timeout=5, **options) as model,
    ):
        config = Config(
            max_tokens=20, temperature=0.0, stop=("\n",), extensions={"adapter": "sound"}
        )
        request = Request(
            model=model.lm.model, system="Be brief.", messages=(Message.user(text),), config=config
        )
        written = model.lm(request).message.text
        return (
            written,
            server.bodies[-1],
            [line.replace(f"127.0.0.1:{server.server_port}", "HOST") for line in said],
        )


def after_check(answer):
    """Answer the check, and everything else as said."""
    return lambda body: "Hello" if body["messages"][-1]["content"] == PROBE else answer


def test_a_request_as_every_server_takes_it():
    written, body, said = ask("It is < |eot_id|>.\nMore", "What is <|eot_id|>?")
    assert written == "It is <|eot_id|>."
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is < |eot_id|>?"},
    ]
    assert body == {
        "model": "tiny",
        "messages": messages,
        "max_tokens": 20,
        "temperature": 0.0,
        "stop": ["\n"],
    }
    assert said == []


@pytest.mark.parametrize(
    "answer",
    [
        wrote(
            "verdict good", reasoning_content="The user wants a verdict, so I check each criterion."
        ),
        wrote("verdict good", reasoning="The user wants a verdict."),
        "<think>\nIs it?\nyes, 95\n</think>\n\nverdict good",
        "so it is good\n</think>\nverdict good",
        "[THINK]so it is[/THINK]verdict good\nmore",
        "<reasoning>Is it?</reasoning>\n<answer>verdict good</answer>",
        "<analysis>\nIs it?</analysis>verdict good",
        "<longcat_think>Is it?</longcat_think>verdict good",
        (
            "<|channel|>analysis<|message|>It"
            " is<|end|><|start|>assistant<|channel|>final<|message|>verdict good<|return|>"
        ),
        "analysisWe look.assistantfinalverdict good",
        "<|channel>thought\nIt is<channel|>verdict good",
        "Here is my thought process: It is. Here is my response: verdict good",
    ],
)
def test_thoughts_are_cut_and_get_room(answer):
    written, body, said = ask(answer)
    assert written == "verdict good"
    # The limit of a step is for its answer; a stop sequence would end the thought.
    assert (body["max_tokens"], "stop" in body) == (20 + 4096, False)
    assert said == ["HOST: tiny thinks before it answers; each call may take 4096 tokens more"]


def test_a_model_that_begins_to_think_later_gets_room():
    def think(body):
        long_enough = body["max_tokens"] > 100 or body["messages"][-1]["content"] == PROBE
        return "Paris" if long_enough else wrote(None, finish="length", reasoning="The capital")

    assert ask(think)[0] == "Paris"


def test_a_thought_that_only_its_end_tells_gets_room_before_the_first_question():
    def think(body):
        return (
            "so it is</think>Paris" if body["max_tokens"] > 100 else wrote("so it", finish="length")
        )

    assert ask(think)[0] == "Paris"


@pytest.mark.parametrize(
    "answer",
    [
        wrote(None, reasoning_content="Hm"),
        wrote("", finish="length"),
        wrote("<think>Hm", finish="length"),
        wrote("<|channel|>analysis<|message|>Hm", finish="length"),
        "<scratchpad>Hm",
        "analysisHm",
    ],
)
def test_nothing_but_thoughts_is_no_answer(answer):
    message = r"only thought and written nothing.*turn its thinking off.*more"
    with serving(answer) as server, open_model(server.spec, notify=print) as model:
        for number in range(4):
            with refuses(message, LMInvalidRequestError):
                model.lm(f"What is a quay ({number})?")
        with refuses(f"5 requests in a row failed: .*{message}", FailingModelError):
            model.lm("What is a quay?")


@pytest.mark.parametrize(
    ("refused", "message", "said", "left"),
    [
        (
            "stop",
            "stop is not supported with this model",
            "stop; it is left out",
            {"max_tokens", "temperature"},
        ),
        ("temperature", "not supported", "temperature; it is left out", {"max_tokens", "stop"}),
        (
            "max_tokens",
            "'max_tokens' is not supported, use max_completion_tokens",
            "max_tokens; it is sent as max_completion_tokens",
            {"max_completion_tokens", "stop", "temperature"},
        ),
    ],
)
def test_a_refused_parameter_is_left_out(refused, message, said, left):
    error = {"error": {"message": message, "param": refused}}
    written, body, lines = ask(lambda body: (400, error) if refused in body else "A\nB")
    assert written == "A"  # a stop sequence that is left out ends the text all the same
    assert body.keys() - {"model", "messages"} == left
    assert lines == [f"HOST refuses {said} from now on"]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "System role not supported"),
        (500, "Conversation roles must alternate"),
        (422, "Unexpected role 'system'"),
        (400, "no developer/system instructions"),
        (422, [{"loc": ["role"], "msg": "Input is wrong", "input": "system"}]),
    ],
)
def test_a_system_text_that_is_refused_is_put_before_the_first_question(status, message):
    written, body, said = ask(
        lambda body: (
            (status, {"detail": message}) if body["messages"][0]["role"] == "system" else "A quay."
        )
    )
    assert written == "A quay."
    assert body["messages"] == [{"role": "user", "content": "Be brief.\n\nWhat is a quay?"}]
    assert said == ["HOST refuses system; it is put before the first question from now on"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((401, ERROR), "HOST answers 401: no; set the API key in GROUNDSET_API_KEY"),
        ((402, ERROR), "HOST answers 402: no"),
        (
            (404, {"error": {"message": "no route"}}),
            "HOST answers 404: no route; check the name of the model and the address: most end",
        ),
        ((422, {"detail": "too strict"}), "HOST answers 422: too strict"),
        ((400, [{"error": {"message": "too strict"}}]), "HOST answers 400: too strict"),
        (
            (200, {"hello": 1}),
            r"HOST did not answer this prompt \(no message: filtered, or no model server",
        ),
        ((200, [1]), "HOST does not answer like a model server"),
        ((200, {"choices": [None]}), r"HOST did not answer this prompt \(no message"),
    ],
)
def test_a_server_that_cannot_be_used_is_named_before_anything_is_asked(answer, message):
    with (
        serving(answer) as server,
        refuses(message.replace("HOST ", r"^\S+ "), UnreachableModelError),
    ):
        open_model(server.spec, notify=print, timeout=5)
    assert server.bodies == []


def test_a_provider_needs_its_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with refuses(
        "openai cannot be asked: no API key found.*Set OPENAI_API_KEY", UnreachableModelError
    ):
        open_model("openai/gpt-4o-mini", notify=print)


def test_nobody_listens():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        spec = f"openai/tiny@http://127.0.0.1:{bound.getsockname()[1]}/v1"
        with refuses(
            r"does not answer like a model server \(.*refused\); check that one runs there",
            UnreachableModelError,
        ):
            open_model(spec)
    with refuses(r"nowhere\.invalid does not answer like a model server \(", UnreachableModelError):
        open_model("openai/tiny@http://nowhere.invalid/v1", notify=print)


def test_the_key_goes_to_the_named_address(monkeypatch):
    monkeypatch.setenv("GROUNDSET_API_KEY", "secret")
    with serving() as server:
        open_model(server.spec).close()
        assert server.keys == ["Bearer secret"]
        server.answer = lambda body: (401, ERROR)
        with refuses(
            "answers 401: no; set the API key in GROUNDSET_API_KEY", UnreachableModelError
        ):
            open_model(server.spec)
        server.answer = lambda body: (422, {"error": {"message": f"you sent {server.keys[-1]}"}})
        with refuses(r"you sent Bearer \(the key\)", UnreachableModelError):
            open_model(server.spec)
        monkeypatch.setenv("GROUNDSET_API_KEY", "four")  # as "EMPTY" of a local server
        assert ask("four")[0] == "four"


def test_a_failure_that_passes_is_tried_again(monkeypatch):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    answers = [(429, ERROR), (503, ERROR)]
    written, _, said = ask(
        lambda body: answers.pop() if answers and len(body["messages"]) > 1 else "Yes"
    )
    assert (written, pauses) == ("Yes", [2.0, 4.0])
    assert said == [
        "HOST answers 503: no; trying again in 2 s",
        "HOST answers 429: no; trying again in 4 s",
    ]
    with refuses("answers 429: no", NoAnswerError):
        ask(after_check((429, ERROR)), retries=0)
    with pytest.raises(LMInvalidRequestError) as refused:  # only this request is
        ask(after_check((400, ERROR)))
    assert refused.value.__cause__ is not refused.value  # the run follows the causes to their end


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({**wrote("x"), "choices": []}, r"did not answer this prompt \(no message: filtered"),
        ({**wrote("x"), "choices": [{"index": 0, "message": None}]}, r"\(no message: filtered"),
        ({**wrote("x"), "choices": [{"finish_reason": "content_filter"}]}, r"\(content_filter\)"),
        (wrote("A qu", finish="content_filter: SAFETY"), r"\(content_filter: SAFETY\)"),
        (wrote("", finish="error"), r"did not answer this prompt \(error\)"),
        (wrote(None, refusal="Of storms I say nothing."), r"\(Of storms I say nothing\.\)"),
        ({"error": {"message": "upstream failed", "code": 502}}, "answers 502: upstream failed"),
        ({"error": "overloaded", "choices": []}, "answers 500: overloaded"),
        ({"hello": 1}, "no message: filtered, or no model server"),
        ((500, {"error": {"message": "unexpected end"}}), "answers 500: unexpected end"),
        ((403, {"error": {"message": "flagged"}}), "answers 403: flagged"),
        ((400, {"error": {"code": "content_filter", "message": "policy"}}), "answers 400: policy"),
    ],
)
def test_one_prompt_that_is_never_answered(answer, reason):
    def reply(body):
        return answer if "storm" in body["messages"][-1]["content"] else "A quay."

    with serving(reply) as server, open_model(server.spec, retries=0) as model:
        for number in range(4):
            with refuses(rf"^127\.0\.0\.1:\d+ .*{reason}", LMInvalidRequestError):
                model.lm(f"What is a storm ({number})?")
        assert model.lm("What is a quay?") == ["A quay."]
        for number in range(4):  # four failures and an answer are no failure of the model
            with pytest.raises(LMInvalidRequestError):
                model.lm(f"What is a storm ({number})?")
        with refuses(f"5 requests in a row failed: .*{reason}", FailingModelError):
            model.lm("What is a storm?")


def test_a_slow_server():
    awake = threading.Event()
    with serving(lambda body: "Hello" if awake.wait(5) else "late") as server:
        with refuses(
            r"did not answer within 0\.3 seconds; set a longer --timeout", UnreachableModelError
        ):
            open_model(server.spec, timeout=0.3)
        awake.set()


def test_an_answer_in_single_bytes_and_one_that_breaks_off():
    def trickle(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while not handler.server.closing.wait(0.02):
            handler.wfile.write(b" ")

    with serving() as server, open_model(server.spec, timeout=0.5, retries=0) as model:
        server.closing = threading.Event()
        server.fault = trickle
        with refuses("did not answer within", NoAnswerError):
            model.lm("Hello")
        server.closing.set()
        server.fault = lambda handler: handler.connection.shutdown(socket.SHUT_RDWR)
        with refuses("closed connection before sending response", NoAnswerError):
            model.lm("Hello again")


def test_dspy_sees_one_call(tmp_path):
    class Seen(dspy.utils.callback.BaseCallback):
        calls = 0

        def on_lm_start(self, call_id, instance, inputs):
            Seen.calls += 1

    with (
        serving("[[ ## answer ## ]]\nParis\n\n[[ ## completed ## ]]") as server,
        open_model(server.spec) as model,
    ):
        with dspy.context(lm=model.lm, callbacks=[Seen()], track_usage=True):
            prediction = dspy.Predict("question -> answer")(
                question="What is the capital of France?"
            )
        assert prediction.answer == "Paris"
        assert prediction.get_lm_usage()[model.lm.model]["total_tokens"] == 28
        assert Seen.calls == 1
        assert len(model.lm.history) == 1
        assert model.usage()["calls"] == 1
