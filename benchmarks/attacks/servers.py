"""Model servers that send too much, too slowly or what cannot be, and pages that somebody else keeps waiting."""

import gzip
import json
import signal
import socket
import time
import zlib
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from attacks.server import Honest, Say, serving, whole
from attacks.target import Outcome, Target

_CAP_MIB = 1_000
_SECONDS = 60
_MIB = b" " * (1 << 20)


def _rows(folder: Path) -> Path:
    rows = folder / "rows.jsonl"
    row = {"question": "When was the bridge built?", "passage": "Ada Lund built the bridge in 1931."}
    rows.write_text(f"{json.dumps(row)}\n", encoding="utf-8")
    return rows


def _judged(target: Target, folder: Path, spec: str) -> Outcome:
    out = folder / "judged.jsonl"
    critic = ("--critic", "lm", "--lm", spec)
    return target.run("judge", "questions", _rows(folder), *critic, "--out", out, memory_mib=_CAP_MIB, seconds=_SECONDS)


def _refused(target: Target, folder: Path, say: Say, says: str = "The model server at") -> str:
    """Let a critic be answered by ``say``, and return what is wrong with how that ends."""
    with serving(say) as server:
        return _judged(target, folder, server.spec).fault(1, says=says)


def answer_of_4_gb(target: Target, folder: Path) -> str:
    """Announce four gigabytes and send them."""

    def say(caller: socket.socket) -> None:
        caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (4 << 30))
        for _ in range(4 << 10):
            caller.sendall(_MIB)

    return _refused(target, folder, say, "MiB")


def _blanks_as_gzip(mebibytes: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return b"".join(packer.compress(_MIB) for _ in range(mebibytes)) + packer.flush()


def answer_of_1_gb_as_gzip(target: Target, folder: Path) -> str:
    """Send a gigabyte of blanks that gzip makes a megabyte of."""
    body = _blanks_as_gzip(1 << 10)
    return _refused(target, folder, lambda caller: caller.sendall(whole(body, "200 OK", "Content-Encoding: gzip")))


def answer_in_gzip_twice(target: Target, folder: Path) -> str:
    """Send gigabytes that gzip, twice over, makes some kilobytes of."""
    body = gzip.compress(_blanks_as_gzip(4 << 10))
    say = whole(body, "200 OK", "Content-Encoding: gzip, gzip")
    return _refused(target, folder, lambda caller: caller.sendall(say))


def _without_end(caller: socket.socket) -> None:
    caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        caller.sendall(b"100000\r\n" + _MIB + b"\r\n")


def answer_without_end(target: Target, folder: Path) -> str:
    """Send chunk after chunk."""
    return _refused(target, folder, _without_end, "MiB")


def error_without_end(target: Target, folder: Path) -> str:
    """Refuse a request, and go on explaining why."""

    def say(caller: socket.socket) -> None:
        caller.sendall(b'HTTP/1.1 500 No\r\nContent-Type: application/json\r\n\r\n{"error": {"message": "')
        while True:
            caller.sendall(_MIB)

    return _refused(target, folder, say, "MiB")


def headers_without_end(target: Target, folder: Path) -> str:
    """Send header after header."""

    def say(caller: socket.socket) -> None:
        caller.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            caller.sendall(b"X-More: %s\r\n" % (b"x" * 1000) * 1000)

    return _refused(target, folder, say, "")


def _trickle(start: bytes) -> Say:
    def say(caller: socket.socket) -> None:
        caller.sendall(start)
        while True:
            time.sleep(0.5)
            caller.sendall(b" ")

    return say


def trickle_at_the_check(target: Target, folder: Path) -> str:
    """Send one byte after the other when asked for the first token."""
    with serving(check=_trickle(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")) as server:
        return _judged(target, folder, server.spec).fault(2, says="did not answer within 30 seconds")


def trickle_of_headers_at_the_check(target: Target, folder: Path) -> str:
    """Send one byte of a header after the other when asked for the first token."""
    with serving(check=_trickle(b"HTTP/1.1 200 OK\r\nX-More: ")) as server:
        return _judged(target, folder, server.spec).fault(2, says="did not answer within 30 seconds")


def redirect_with_an_endless_body(target: Target, folder: Path) -> str:
    """Send who lists the models elsewhere, with a body that does not end."""

    def models(caller: socket.socket) -> None:
        caller.sendall(b"HTTP/1.1 302 Found\r\nLocation: /v1/others\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            caller.sendall(_MIB)

    with serving(models=models) as server:
        return _judged(target, folder, server.spec).fault(0)


def names_of_a_megabyte(target: Target, folder: Path) -> str:
    """List models whose names fill the screen."""
    names = [{"id": "n" * 300_000}, {"id": "m" * 300_000}]
    missing = whole(json.dumps({"error": {"message": "no such model", "code": 404}}).encode(), "404 Not Found")
    with serving(
        models=lambda caller: caller.sendall(whole(json.dumps({"data": names}).encode())),
        check=lambda caller: caller.sendall(missing),
    ) as server:
        outcome = _judged(target, folder, server.spec)
    return outcome.fault(2) or ("prints the names in full" if len(outcome.text) > 10_000 else "")


def waiting_for_a_day(target: Target, folder: Path) -> str:
    """Ask to be left alone for a day."""
    say = whole(b'{"error": {"message": "slow down"}}', "429 Too Many Requests", "Retry-After: 100000")
    return _refused(target, folder, lambda caller: caller.sendall(say), "100000 seconds")


def lists_within_lists(target: Target, folder: Path) -> str:
    """Send JSON that is nested a hundred thousand times."""
    return _refused(target, folder, lambda caller: caller.sendall(whole(b"[" * 100_000)))


def a_million_choices(target: Target, folder: Path) -> str:
    """Send a million answers instead of one."""
    choice = {"message": {"content": "Yes"}}
    body = json.dumps({"model": "tiny", "choices": [choice] * 200_000}).encode()
    return _refused(target, folder, lambda caller: caller.sendall(whole(body)))


def _logprobs(value: object) -> Honest:
    top = [{"token": "no", "logprob": -0.1}, {"token": "yes", "logprob": value}]
    return Honest({"logprobs": {"content": [{"token": "no", "logprob": -0.1, "top_logprobs": top}]}})


def logprob_that_is_no_number(target: Target, folder: Path) -> str:
    """Say of a bad question that it is good with a likelihood of NaN."""
    return _refused(target, folder, _logprobs(float("nan")), "The model server at")


def logprob_that_is_infinite(target: Target, folder: Path) -> str:
    """Say of a bad question that it is infinitely likely to be good."""
    return _refused(target, folder, _logprobs(float("inf")), "The model server at")


def logprob_of_a_thousand(target: Target, folder: Path) -> str:
    """Say of a bad question that it is good with a logarithm that no probability has."""
    return _refused(target, folder, _logprobs(1000.0), "The model server at")


def logprob_in_words(target: Target, folder: Path) -> str:
    """Write a likelihood as a text."""
    return _refused(target, folder, _logprobs("nan"), "The model server at")


def _documents(folder: Path) -> Path:
    documents = folder / "docs"
    documents.mkdir()
    text = "The ferry leaves Brannock pier at seven each morning and returns at noon. Its crew lives at Tollvik. "
    (documents / "ferry.txt").write_text(text * 3, encoding="utf-8")
    return documents


def _generated(target: Target, folder: Path, documents: Path, spec: str, *, counts: bool = True) -> Outcome:
    options = ("--lm", spec, "--recipe", "single", "--size", "1", "--no-track", "--out", folder / "run")
    return target.run(
        "generate", documents, *options, memory_mib=2_000, seconds=90, env={"GROUNDSET_API_KEY": ""}, counts=counts
    )


def tokens_without_number(target: Target, folder: Path) -> str:
    """Bill 10^30 tokens, then be corrected: the same command goes on."""
    documents = _documents(folder)
    usage = {"prompt_tokens": 10**30, "completion_tokens": 10**30, "total_tokens": 10**30}
    with serving(Honest(usage=usage)) as server:
        outcome = _generated(target, folder, documents, server.spec)
    if fault := outcome.fault(1, says="The model server at"):
        return fault
    with serving() as server:
        return _generated(target, folder, documents, server.spec, counts=False).fault((0, 3))


def tokens_below_zero(target: Target, folder: Path) -> str:
    """Bill less than nothing."""
    with serving(Honest(usage={"prompt_tokens": -5, "completion_tokens": "many"})) as server:
        return _generated(target, folder, _documents(folder), server.spec).fault(1, says="The model server at")


def text_of_7_mb(target: Target, folder: Path) -> str:
    """Answer a question with a book."""
    book = {"message": {"role": "assistant", "content": "When does it leave? " * 350_000}}
    with serving(Honest(book)) as server:
        return _generated(target, folder, _documents(folder), server.spec).fault((1, 3))


def unfinished_forms_at_the_review(target: Target, folder: Path) -> str:
    """Send the page a hundred forms that do not end, and time another page."""
    with serving() as server:
        if fault := _generated(target, folder, _documents(folder), server.spec, counts=False).fault((0, 3)):
            return fault
    started = time.monotonic()
    review = target.start("review", folder / "run", "--rejects", "--no-browser")
    opened: list[socket.socket] = []
    try:
        if not review.wait_for("in a browser"):
            return "the page is not served"
        address = urlsplit(next(word for word in review.text.split() if word.startswith("http:")))
        for _ in range(100):
            opened.append(socket.create_connection((str(address.hostname), address.port or 80)))
            opened[-1].sendall(
                f"POST {address.path}all HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 100\r\n"
                "Content-Type: application/x-www-form-urlencoded\r\n\r\ndo=sign".encode()
            )
        time.sleep(1)
        page = HTTPConnection(str(address.hostname), address.port, timeout=5)
        page.request("GET", address.path)
        asked = time.monotonic()
        page.getresponse().read()
        target.last_line = f"another page came after {time.monotonic() - asked:.1f} s"
    except TimeoutError:
        return "another page did not come within 5 s"
    finally:
        for each in opened:
            each.close()
        target.seconds = time.monotonic() - started
        review.end()
    return ""


def push_to_a_hub_without_end(target: Target, folder: Path) -> str:
    """Answer the first request of a push by chunk after chunk."""
    with serving() as server:
        if fault := _generated(target, folder, _documents(folder), server.spec, counts=False).fault((0, 3)):
            return fault
    with serving(_without_end) as hub:
        options = ("--repo", "you/demo", "--licence", "other")
        env = {"HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_invented"}
        return target.run("push", folder / "run", *options, env=env, memory_mib=_CAP_MIB).fault(2, says="MiB")


def tracked_runs_asked_for_from_elsewhere(target: Target, folder: Path) -> str:
    """Ask the pages of tracked runs by another name, from another page, and for files outside."""
    store = ("--tracking", str(folder / "store"))
    options = ("--recipe", "single", "--size", "1", *store, "--out", folder / "run")
    with serving() as server:
        documents = _documents(folder)
        if fault := target.run("generate", documents, "--lm", server.spec, *options, counts=False).fault((0, 3)):
            return fault
    started = time.monotonic()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pages = target.start("ui", "--port", str(port), *store)
    try:
        if not pages.wait_for("in a browser"):
            return "the pages are not served"
        for method, path, headers in (
            ("GET", "/", {"Host": "elsewhere.example"}),
            ("POST", "/api/2.0/mlflow/experiments/create", {"Origin": "https://elsewhere.example"}),
            ("POST", "/api/2.0/mlflow/experiments/create", {"Origin": "null"}),
            ("GET", "/api/2.0/mlflow-artifacts/artifacts/../../../../etc/passwd", {}),
            ("GET", "/api/2.0/mlflow-artifacts/artifacts/..%2f..%2f..%2fetc%2fpasswd", {}),
        ):
            page = HTTPConnection("127.0.0.1", port, timeout=20)
            page.request(method, path, headers=headers)
            if (answer := page.getresponse()).status < 400:
                return f"{method} {path} {headers}: {answer.status}"
    finally:
        target.seconds = time.monotonic() - started
        pages.process.send_signal(signal.SIGINT)  # it ends the server that it started
        pages.process.wait(20)
    target.last_line = "all refused"
    return ""


ATTACKS = (
    answer_of_4_gb,
    answer_of_1_gb_as_gzip,
    answer_in_gzip_twice,
    answer_without_end,
    error_without_end,
    headers_without_end,
    trickle_at_the_check,
    trickle_of_headers_at_the_check,
    redirect_with_an_endless_body,
    names_of_a_megabyte,
    waiting_for_a_day,
    lists_within_lists,
    a_million_choices,
    logprob_that_is_no_number,
    logprob_that_is_infinite,
    logprob_of_a_thousand,
    logprob_in_words,
    tokens_without_number,
    tokens_below_zero,
    text_of_7_mb,
    unfinished_forms_at_the_review,
    push_to_a_hub_without_end,
    tracked_runs_asked_for_from_elsewhere,
)
