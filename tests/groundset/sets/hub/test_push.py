"""Pushing to a local Hub server: commits, retries, errors and limits."""

import io
import json
import os
import subprocess
import sys
from contextlib import suppress

import pandas as pd
import pytest
from huggingface_hub import constants, get_session

from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from programs.errors import HubError, InputError

OURS = [
    "README.md",
    "data/corpus/corpus-00000-of-00001.parquet",
    "data/qa/test-00000-of-00001.parquet",
    "data/qa/train-00000-of-00001.parquet",
    "groundset.json",
]


def table(content):
    return pd.read_parquet(io.BytesIO(content))


def test_push_creates_a_dataset(hub, push, capfd):
    hooks = get_session().event_hooks
    pushed = push()
    assert get_session().event_hooks == hooks, "the Hub's client has its settings again"
    assert (pushed.questions, pushed.chunks, pushed.private) == (2, 3, False)
    assert pushed.url == f"{hub.url}/datasets/you/demo"
    assert sorted(pushed.changed) == OURS
    files = hub.files("you/demo")
    assert sorted(files) == [".gitattributes", *OURS]
    assert table(files[OURS[2]])["question"].tolist() == ["When does ferry 0 leave?"]
    assert table(files[OURS[1]])["chunk_id"].tolist() == ["ferry-0000", "ferry-0001", "ferry-0002"]
    assert hub.repos["you/demo"].messages == ["initial commit", "Evaluation set of 2 questions and 3 passages"]
    assert push.notices[0] == f"Texts go to {hub.url.removeprefix('http://')}."
    assert capfd.readouterr().err == ""


def test_push_without_changes_makes_no_commit(hub, push):
    push()
    hub.asked.clear()
    assert push().changed == ()
    assert len(hub.repos["you/demo"].messages) == 2
    assert not any(word in each for each in hub.asked for word in ("PUT", "commit", "preupload", "validate"))
    assert push.notices == []


def test_push_uploads_only_changed_files(hub, push, run_of, tmp_path):
    push()
    hub.asked.clear()
    larger = run_of(tmp_path / "larger", 3)
    assert sorted(push(larger).changed) == [OURS[0], OURS[2], OURS[4]], "corpus and train are as they were"
    assert hub.count("PUT /lfs/") == 1
    assert table(hub.files("you/demo")[OURS[2]])["id"].tolist() == ["q-0", "q-2"]


def test_push_deletes_old_splits_and_keeps_other_files(hub, push, run_of, tmp_path):
    push()
    hub.put("you/demo", "data/notes.parquet", b"theirs")
    hub.put("you/demo", "data/qa/notes.txt", b"theirs too")
    hub.put("you/demo", "LICENSE", b"text")
    deeper = "data/qa/test/test-00000-of-00001.parquet"
    hub.put("you/demo", deeper, b"not ours either")
    assert OURS[3] in push(run_of(tmp_path / "whole", split="test")).changed
    names = {*hub.files("you/demo")}
    assert names == {".gitattributes", "data/notes.parquet", "data/qa/notes.txt", "LICENSE", deeper, *OURS} - {OURS[3]}


def test_push_keeps_manual_edits_of_the_card(hub, push, run_of, tmp_path):
    push()
    card = hub.files("you/demo")["README.md"].decode()
    edited = card.replace("pretty_name: demo", "pretty_name: Ferries").replace("- rag\n", "- rag\n- ships\n")
    edited += "\n## Thanks\n\nTo the ferrymen.\n"
    hub.put("you/demo", "README.md", edited.encode())
    assert push().changed == (), "what is ours is as it was"
    push(run_of(tmp_path / "larger", 3))
    now = hub.files("you/demo")["README.md"].decode()
    assert "To the ferrymen." in now
    assert "- ships" in now
    assert "pretty_name: Ferries" in now
    assert "3 questions" in now
    assert "2 questions" not in now
    assert push(tmp_path / "larger").changed == ()


def test_push_private(hub, push):
    assert push(private=True).private is True
    assert hub.repos["you/demo"].private
    assert push().private is True, "it stays so"
    hub.create("you/open")
    hub.asked.clear()
    with pytest.raises(InputError, match=r"--private: http\S+/datasets/you/open"):
        push(repo="you/open", private=True)
    assert [*hub.files("you/open")] == [".gitattributes"]
    assert not any(word in each for each in hub.asked for word in ("PUT", "commit", "preupload", "validate"))


def test_push_to_a_branch(hub, push):
    assert push(branch="v1/draft").url == f"{hub.url}/datasets/you/demo/tree/v1%2Fdraft"
    assert [*hub.files("you/demo")] == [".gitattributes"]
    card = hub.files("you/demo", "v1/draft")["README.md"].decode()
    assert 'load_dataset("you/demo", "qa", revision="v1/draft")' in card
    assert push(branch="v1/draft").changed == ()


def test_push_retries_multipart_uploads(hub, push):
    hub.part = 1000
    hub.failing = [("PUT /lfs/", 0), ("PUT /lfs/", 500), ("/preupload/", 503)]
    assert sorted(push().changed) == OURS
    assert hub.count("?part=2") >= 3
    assert len(table(hub.files("you/demo")[OURS[1]])) == 3


def test_push_can_be_repeated_after_connection_errors(hub, push):
    hub.failing = [("PUT /lfs/", 0)] * 40
    with pytest.raises(HubError, match=r"^127\.0\.0\.1:\d+ cannot be reached"):
        push()
    hub.failing = []
    assert sorted(push().changed) == OURS
    assert len(hub.repos["you/demo"].messages) == 2


@pytest.mark.parametrize("status", [500, 503, 0])
def test_failed_commit_can_be_repeated_without_uploads(hub, push, status):
    hub.failing = [("/commit/", status)]
    with pytest.raises(HubError, match="run the command again"):
        push()
    assert [*hub.files("you/demo")] == [".gitattributes"]
    assert hub.count("PUT /lfs/") == 3
    hub.asked.clear()
    assert sorted(push().changed) == OURS
    assert hub.count("PUT /lfs/") == 0


def test_lost_response_makes_no_second_commit(hub, push, monkeypatch):
    import hub_server

    real = hub_server._Handler._commit

    def lost(self, *given):
        real(self, *given)
        raise hub_server._AnswerError(504, {})

    with monkeypatch.context() as broken:
        broken.setattr(hub_server._Handler, "_commit", lost)
        with pytest.raises(HubError, match="failed"):
            push()
    assert push().changed == ()
    assert len(hub.repos["you/demo"].messages) == 2


@pytest.mark.parametrize(
    ("request_", "status", "message"),
    [
        ("/repos/create", 401, "HF_TOKEN"),
        ("/commit/", 403, "write access to you/demo"),
        ("GET /api/datasets/you/demo", 404, "you/demo does not exist"),
        ("/commit/", 409, "you/demo is being changed"),
        ("/commit/", 412, "you/demo was changed"),
        ("/commit/", 413, "too large"),
        ("/commit/", 429, "too many requests"),
        ("/commit/", 418, "(418: told to fail with 418; (the token))"),
        ("/repos/create", 502, "failed (502); you/demo is unchanged"),
        ("/validate-yaml", 500, "failed (500)"),
    ],
)
def test_hub_errors_are_one_line_without_the_token(hub, push, request_, status, message):
    hub.failing = [(request_, status)]
    with pytest.raises(HubError) as error:
        push()
    assert message in str(error.value)
    assert "hf_secret" not in str(error.value)
    assert "\n" not in str(error.value)


def test_concurrent_changes_are_not_overwritten(hub, push, monkeypatch):
    import hub_server

    real = hub_server._Handler._check_card

    def meanwhile(self, content):
        monkeypatch.setattr(hub_server._Handler, "_check_card", real)
        self.server.put("you/demo", "README.md", b"written meanwhile")
        real(self, content)

    monkeypatch.setattr(hub_server._Handler, "_check_card", meanwhile)
    with pytest.raises(HubError, match="was changed during the push"):
        push()
    push()
    assert hub.files("you/demo")["README.md"].decode().count("written meanwhile") == 1


def test_card_warnings_are_passed_on(hub, push):
    hub.warnings = ["no tasks"]
    push()
    assert "card" in push.notices[-1]
    assert push.notices[-1].endswith("- no tasks")


@pytest.mark.parametrize("token", [None, "", "hf_wröng", "hf_wrong"])
def test_push_needs_a_valid_token(hub, push, monkeypatch, tmp_path, token):
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.delenv("HF_TOKEN") if token is None else monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(HubError, match="HF_TOKEN"):
        push()
    assert hub.repos == {}


def test_token_file_is_used_and_not_leaked(hub, push, monkeypatch, tmp_path):
    token = os.environ["HF_TOKEN"]
    monkeypatch.delenv("HF_TOKEN")
    (tmp_path / "token").write_text(token)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    push()
    assert not any(token in each for each in hub.asked), "in no address"
    assert not any(token.encode() in content for content in hub.files("you/demo").values())
    assert not any(token in line for line in push.notices)


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("http://me:secret@127.0.0.1:9", "127.0.0.1:9"),
        *((address, "HF_ENDPOINT") for address in ("nonsense", "http://[::1", "ftp://x", "http://", "http://x:y")),
    ],
)
def test_endpoint_errors_hide_the_password(push, monkeypatch, address, named):
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    with pytest.raises(HubError, match=named) as failed:
        push()
    assert "secret" not in str(failed.value)


def test_other_servers_are_reported(hub, push, monkeypatch):
    import hub_server

    monkeypatch.setattr(
        hub_server._Handler, "_route", lambda *given: given[0]._send(hub_server._AnswerError(200, b"<p>"))
    )
    with pytest.raises(HubError, match=r"^127\.0\.0\.1:\d+ .* HF_ENDPOINT$"):
        push()


def test_offline_mode_of_the_user_is_respected(hub, push, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("groundset.privacy._taken_offline", False)
    with pytest.raises(HubError, match="HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE"):
        push()
    assert hub.asked == []
    monkeypatch.setattr("groundset.privacy._taken_offline", True)
    assert push().changed
    assert constants.HF_HUB_OFFLINE, "for all others"


def test_unwritable_temporary_folder(hub, push, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/dev/null/none")
    with pytest.raises(InputError, match=r"cannot write temporary files \(TMPDIR\): Not a directory"):
        push()
    assert hub.asked == []


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("repo", name) for name in ("demo", "a/b/c", "you/../x", "you/de mo", "you/demo.git", "/demo", "you/", "")),
        *(("branch", name) for name in ("", "refs/pr/1", "a..b", "-x", "a b", "x/", "x.lock", 'a"b', "a//b", "a\n")),
    ],
)
def test_repo_and_branch_names_are_validated(hub, push, option, value):
    with pytest.raises(InputError, match=f"--{option}"):
        push(**{option: value})
    assert hub.asked == []


def test_push_signed(hub, push, folder):
    with RunStore.review(folder) as store:
        store.reviews.add(Review(item="q-1", reader="ann", verdict="good", answer="at one"))
    push(signed=True)
    files = hub.files("you/demo")
    assert sorted(files) == [".gitattributes", *(name for name in OURS if "test" not in name)]
    assert table(files[OURS[3]])["answer"].tolist() == ["at one"]


READ = """
import json, sys
from datasets import load_dataset
qa, corpus = load_dataset("you/demo"), load_dataset("you/demo", "corpus")
print(json.dumps({"qa": {name: split["id"][:] for name, split in qa.items()}, "corpus": len(corpus["corpus"]),
    "rank": qa["train"].features["rank"].dtype, "gt": qa["train"][0]["retrieval_gt"]}))
"""


def test_pushed_dataset_loads_with_datasets(hub, push, tmp_path):
    push()
    kept = {name: value for name, value in os.environ.items() if name not in ("HF_TOKEN", "HF_HUB_OFFLINE")}
    environment = kept | {"HF_HOME": str(tmp_path / "home")}
    ran = subprocess.run([sys.executable, "-c", READ], env=environment, capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "qa": {"test": ["q-0"], "train": ["q-1"]},
        "corpus": 3,
        "rank": "int64",
        "gt": [["ferry-0001"]],
    }


def answering(monkeypatch, text, head, part=b"", parts=1_000_000):
    """Let the Hub answer requests whose method and path hold a text with so much of its own."""
    import hub_server

    usual = hub_server._Handler._serve

    def serve(handler):
        if text not in f"{handler.command} {handler.path}":
            return usual(handler)
        handler.close_connection = True
        with suppress(OSError):
            handler._body()
            handler.wfile.write(head)
            for _ in range(parts):
                handler.wfile.write(part)

    monkeypatch.setattr(hub_server._Handler, "_serve", serve)


@pytest.mark.parametrize("asked", ["POST /api/repos/create", "GET /api/datasets/you/demo", "/tree/", "README.md"])
def test_response_size_is_limited(hub, push, monkeypatch, asked):
    push()
    monkeypatch.setattr("groundset.sets.hub.hub._MAX_RESPONSE_BYTES", 100_000)
    head = b'HTTP/1.1 200 OK\r\nETag: "1"\r\nX-Repo-Commit: 1\r\nContent-Type: application/json\r\n\r\n'
    answering(monkeypatch, asked, head, b"[" * 1000)
    with pytest.raises(HubError, match=r"^127\.0\.0\.1:\d+ .* MiB; .*HF_ENDPOINT$"):
        push(licence="mit")
    assert len(hub.repos["you/demo"].messages) == 2


def test_response_time_is_limited(hub, push, monkeypatch):
    monkeypatch.setattr("groundset.sets.hub.hub._TIMEOUT", 0.5)
    answering(monkeypatch, "/tree/", b"HTTP/1.1 200 OK\r\n\r\n", b" ")
    with pytest.raises(HubError, match=r"did not answer within 0\.5 seconds|cannot be reached"):
        push()


@pytest.mark.parametrize("hint", [b"Retry-After: 100000", b'RateLimit: "api";r=0;t=100000'])
def test_retry_delay_is_limited(hub, push, monkeypatch, hint):
    slept = []
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", slept.append)
    head = b"HTTP/1.1 429 No\r\nConnection: close\r\nContent-Length: 0\r\n%s\r\n\r\n" % hint
    answering(monkeypatch, "PUT /lfs/", head, parts=0)
    with pytest.raises(HubError, match="too many requests"):
        push()
    assert slept
    assert max(slept) <= 10


def test_number_of_files_is_limited(hub, push, monkeypatch):
    push()
    monkeypatch.setattr("groundset.sets.hub.hub._MAX_FILES", 3)
    with pytest.raises(HubError, match=r"lists more than 3 files; name another repository$"):
        push(licence="mit")
