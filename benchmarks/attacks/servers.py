"""Hostile model servers (too large, too slow or invalid answers), and clients that block local pages."""

import gzip
import json
import signal
import socket
import time
import zlib
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from attacks.server import Completion, Handler, response, serving
from attacks.target import Outcome, Target

_CAP_MIB = 1_000
_SECONDS = 60
_MIB = b" " * (1 << 20)


def _rows(folder: Path) -> Path:
    rows = folder / "rows.jsonl"
    row = {"question": "When was the bridge built?", "passage": "Ada Lund built the bridge in 1931."}
    rows.write_text(f"{json.dumps(row)}\n", encoding="utf-8")
    return rows


def _judge(target: Target, folder: Path, spec: str) -> Outcome:
    out = folder / "judged.jsonl"
    critic = ("--critic", "lm", "--lm", spec)
    return target.run("judge", "questions", _rows(folder), *critic, "--out", out, memory_mib=_CAP_MIB, seconds=_SECONDS)


def _rejected(target: Target, folder: Path, complete: Handler, message: str = "the model server at") -> str:
    """Judge with a critic on a server, which must fail with a message; return the fault."""
    with serving(complete) as server:
        return _judge(target, folder, server.spec).fault(1, message=message)


def answer_of_4_gb(target: Target, folder: Path) -> str:
    """Announce four gigabytes and send them."""

    def send(client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (4 << 30))
        for _ in range(4 << 10):
            client.sendall(_MIB)

    return _rejected(target, folder, send, "MiB")


def _gzipped_spaces(mebibytes: int) -> bytes:
    compressor = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return b"".join(compressor.compress(_MIB) for _ in range(mebibytes)) + compressor.flush()


def answer_of_1_gb_as_gzip(target: Target, folder: Path) -> str:
    """Send a gigabyte of spaces as a megabyte of gzip."""
    data = response(_gzipped_spaces(1 << 10), "200 OK", "Content-Encoding: gzip")
    return _rejected(target, folder, lambda client: client.sendall(data))


def answer_in_gzip_twice(target: Target, folder: Path) -> str:
    """Send gigabytes compressed twice to some kilobytes."""
    data = response(gzip.compress(_gzipped_spaces(4 << 10)), "200 OK", "Content-Encoding: gzip, gzip")
    return _rejected(target, folder, lambda client: client.sendall(data))


def _endless(client: socket.socket) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        client.sendall(b"100000\r\n" + _MIB + b"\r\n")


def endless_answer(target: Target, folder: Path) -> str:
    """Send endless chunks."""
    return _rejected(target, folder, _endless, "MiB")


def endless_error(target: Target, folder: Path) -> str:
    """Send an endless error message."""

    def send(client: socket.socket) -> None:
        client.sendall(b'HTTP/1.1 500 No\r\nContent-Type: application/json\r\n\r\n{"error": {"message": "')
        while True:
            client.sendall(_MIB)

    return _rejected(target, folder, send, "MiB")


def endless_headers(target: Target, folder: Path) -> str:
    """Send endless headers."""

    def send(client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            client.sendall(b"X-More: %s\r\n" % (b"x" * 1000) * 1000)

    return _rejected(target, folder, send, "")


def _trickle(start: bytes) -> Handler:
    def send(client: socket.socket) -> None:
        client.sendall(start)
        while True:
            time.sleep(0.5)
            client.sendall(b" ")

    return send


def trickle_at_the_check(target: Target, folder: Path) -> str:
    """Send single bytes as the answer to the check of the model."""
    with serving(check=_trickle(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")) as server:
        return _judge(target, folder, server.spec).fault(2, message="did not answer within 30 seconds")


def trickle_of_headers_at_the_check(target: Target, folder: Path) -> str:
    """Send single bytes of a header as the answer to the check of the model."""
    with serving(check=_trickle(b"HTTP/1.1 200 OK\r\nX-More: ")) as server:
        return _judge(target, folder, server.spec).fault(2, message="did not answer within 30 seconds")


def redirect_with_an_endless_body(target: Target, folder: Path) -> str:
    """Redirect requests for the list of models, with an endless body."""

    def models(client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 302 Found\r\nLocation: /v1/others\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            client.sendall(_MIB)

    with serving(models=models) as server:
        return _judge(target, folder, server.spec).fault(0)


def names_of_a_megabyte(target: Target, folder: Path) -> str:
    """List models with very long names."""
    names = [{"id": "n" * 300_000}, {"id": "m" * 300_000}]
    missing = response(json.dumps({"error": {"message": "no such model", "code": 404}}).encode(), "404 Not Found")
    with serving(
        models=lambda client: client.sendall(response(json.dumps({"data": names}).encode())),
        check=lambda client: client.sendall(missing),
    ) as server:
        outcome = _judge(target, folder, server.spec)
    return outcome.fault(2) or ("prints the names in full" if len(outcome.text) > 10_000 else "")


def pause_of_a_day(target: Target, folder: Path) -> str:
    """Request a pause of a day."""
    data = response(b'{"error": {"message": "slow down"}}', "429 Too Many Requests", "Retry-After: 100000")
    return _rejected(target, folder, lambda client: client.sendall(data), "100000 seconds")


def deeply_nested_json(target: Target, folder: Path) -> str:
    """Send JSON with a hundred thousand levels."""
    return _rejected(target, folder, lambda client: client.sendall(response(b"[" * 100_000)))


def many_choices(target: Target, folder: Path) -> str:
    """Send 200,000 choices instead of one."""
    choice = {"message": {"content": "Yes"}}
    body = json.dumps({"model": "tiny", "choices": [choice] * 200_000}).encode()
    return _rejected(target, folder, lambda client: client.sendall(response(body)))


def _logprobs(value: object) -> Completion:
    top = [{"token": "no", "logprob": -0.1}, {"token": "yes", "logprob": value}]
    return Completion({"logprobs": {"content": [{"token": "no", "logprob": -0.1, "top_logprobs": top}]}})


def logprob_nan(target: Target, folder: Path) -> str:
    """Send a log-probability of NaN."""
    return _rejected(target, folder, _logprobs(float("nan")))


def logprob_infinite(target: Target, folder: Path) -> str:
    """Send an infinite log-probability."""
    return _rejected(target, folder, _logprobs(float("inf")))


def logprob_of_a_thousand(target: Target, folder: Path) -> str:
    """Send a log-probability above 0."""
    return _rejected(target, folder, _logprobs(1000.0))


def logprob_as_text(target: Target, folder: Path) -> str:
    """Send a log-probability as text."""
    return _rejected(target, folder, _logprobs("nan"))


def _documents(folder: Path) -> Path:
    documents = folder / "docs"
    documents.mkdir()
    text = "The ferry leaves Brannock pier at seven each morning and returns at noon. Its crew lives at Tollvik. "
    (documents / "ferry.txt").write_text(text * 3, encoding="utf-8")
    return documents


def _generate(target: Target, folder: Path, documents: Path, spec: str, *, counts: bool = True) -> Outcome:
    options = ("--lm", spec, "--recipe", "single", "--size", "1", "--no-track", "--out", folder / "run")
    return target.run(
        "generate", documents, *options, memory_mib=2_000, seconds=90, env={"GROUNDSET_API_KEY": ""}, counts=counts
    )


def huge_token_counts(target: Target, folder: Path) -> str:
    """Report 10^30 tokens; the command continues later with a correct server."""
    documents = _documents(folder)
    usage = {"prompt_tokens": 10**30, "completion_tokens": 10**30, "total_tokens": 10**30}
    with serving(Completion(usage=usage)) as server:
        outcome = _generate(target, folder, documents, server.spec)
    if fault := outcome.fault(1, message="the model server at"):
        return fault
    with serving() as server:
        return _generate(target, folder, documents, server.spec, counts=False).fault((0, 3))


def negative_token_counts(target: Target, folder: Path) -> str:
    """Report a negative token count."""
    with serving(Completion(usage={"prompt_tokens": -5, "completion_tokens": "many"})) as server:
        return _generate(target, folder, _documents(folder), server.spec).fault(1, message="the model server at")


def text_of_7_mb(target: Target, folder: Path) -> str:
    """Send a completion of 7 MB."""
    book = {"message": {"role": "assistant", "content": "When does it leave? " * 350_000}}
    with serving(Completion(book)) as server:
        return _generate(target, folder, _documents(folder), server.spec).fault((1, 3))


def unfinished_forms_at_the_review(target: Target, folder: Path) -> str:
    """Send a hundred incomplete forms to the review page, and time another request."""
    with serving() as server:
        if fault := _generate(target, folder, _documents(folder), server.spec, counts=False).fault((0, 3)):
            return fault
    started = time.monotonic()
    review = target.start("review", folder / "run", "--rejects", "--no-browser")
    opened: list[socket.socket] = []
    try:
        if not review.wait_for("in a browser"):
            return "no page"
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
        requested = time.monotonic()
        page.getresponse().read()
        target.last_line = f"another page took {time.monotonic() - requested:.1f} s"
    except TimeoutError:
        return "another page took more than 5 s"
    finally:
        for each in opened:
            each.close()
        target.seconds = time.monotonic() - started
        review.kill()
    return ""


def push_to_a_hub_with_endless_answers(target: Target, folder: Path) -> str:
    """Send endless answers to a push."""
    with serving() as server:
        if fault := _generate(target, folder, _documents(folder), server.spec, counts=False).fault((0, 3)):
            return fault
    with serving(models=_endless, complete=_endless) as hub:
        options = ("--repo", "you/demo", "--licence", "other")
        env = {"HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_invented"}
        return target.run("push", folder / "run", *options, env=env, memory_mib=_CAP_MIB).fault(2, message="MiB")


def tracking_pages_from_other_origins(target: Target, folder: Path) -> str:
    """Request the pages of tracked runs with another host, from another origin, and for files outside."""
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
            return "no page"
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
        pages.process.send_signal(signal.SIGINT)  # also stops its server
        pages.process.wait(20)
    target.last_line = "all rejected"
    return ""


ATTACKS = (
    answer_of_4_gb,
    answer_of_1_gb_as_gzip,
    answer_in_gzip_twice,
    endless_answer,
    endless_error,
    endless_headers,
    trickle_at_the_check,
    trickle_of_headers_at_the_check,
    redirect_with_an_endless_body,
    names_of_a_megabyte,
    pause_of_a_day,
    deeply_nested_json,
    many_choices,
    logprob_nan,
    logprob_infinite,
    logprob_of_a_thousand,
    logprob_as_text,
    huge_token_counts,
    negative_token_counts,
    text_of_7_mb,
    unfinished_forms_at_the_review,
    push_to_a_hub_with_endless_answers,
    tracking_pages_from_other_origins,
)
