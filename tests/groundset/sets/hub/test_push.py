"""A run on a Hub of our own, over HTTP: what comes there, what stays, and what a push that broke off leaves."""

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


def test_a_run_becomes_a_dataset(hub, push, capfd):
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
    assert push.told[0] == f"Texts go to {hub.url.removeprefix('http://')}."
    assert capfd.readouterr().err == ""


def test_the_same_run_again_makes_no_commit_and_sends_no_text(hub, push):
    push()
    hub.asked.clear()
    assert push().changed == ()
    assert len(hub.repos["you/demo"].messages) == 2
    assert not any(word in each for each in hub.asked for word in ("PUT", "commit", "preupload", "validate"))
    assert push.told == []


def test_a_larger_run_sends_only_what_has_changed(hub, push, run_of, tmp_path):
    push()
    hub.asked.clear()
    larger = run_of(tmp_path / "larger", 3)
    assert sorted(push(larger).changed) == [OURS[0], OURS[2], OURS[4]], "corpus and train are as they were"
    assert hub.count("PUT /lfs/") == 1
    assert table(hub.files("you/demo")[OURS[2]])["id"].tolist() == ["q-0", "q-2"]


def test_a_split_that_is_no_more_goes_and_other_files_stay(hub, push, run_of, tmp_path):
    push()
    hub.put("you/demo", "data/notes.parquet", b"theirs")
    hub.put("you/demo", "data/qa/notes.txt", b"theirs too")
    hub.put("you/demo", "LICENSE", b"text")
    deeper = "data/qa/test/test-00000-of-00001.parquet"
    hub.put("you/demo", deeper, b"not ours either")
    assert OURS[3] in push(run_of(tmp_path / "whole", split="test")).changed
    names = {*hub.files("you/demo")}
    assert names == {".gitattributes", "data/notes.parquet", "data/qa/notes.txt", "LICENSE", deeper, *OURS} - {OURS[3]}


def test_what_a_person_wrote_on_the_card_stays(hub, push, run_of, tmp_path):
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


def test_a_private_dataset_is_made_private_and_a_public_one_refused(hub, push):
    assert push(private=True).private is True
    assert hub.repos["you/demo"].private
    assert push().private is True, "it stays so"
    hub.create("you/open")
    hub.asked.clear()
    with pytest.raises(InputError, match=r"--private: everybody sees http\S+/datasets/you/open"):
        push(repo="you/open", private=True)
    assert [*hub.files("you/open")] == [".gitattributes"]
    assert not any(word in each for each in hub.asked for word in ("PUT", "commit", "preupload", "validate"))


def test_a_branch_is_made_and_main_stays(hub, push):
    assert push(branch="v1/draft").url == f"{hub.url}/datasets/you/demo/tree/v1%2Fdraft"
    assert [*hub.files("you/demo")] == [".gitattributes"]
    card = hub.files("you/demo", "v1/draft")["README.md"].decode()
    assert 'load_dataset("you/demo", "qa", revision="v1/draft")' in card
    assert push(branch="v1/draft").changed == ()


def test_large_parts_and_broken_connections_are_taken_up_again(hub, push):
    hub.part = 1000
    hub.failing = [("PUT /lfs/", 0), ("PUT /lfs/", 500), ("/preupload/", 503)]
    assert sorted(push().changed) == OURS
    assert hub.count("?part=2") >= 3
    assert len(table(hub.files("you/demo")[OURS[1]])) == 3


def test_a_connection_that_breaks_for_good_leaves_a_retry_safe(hub, push):
    hub.failing = [("PUT /lfs/", 0)] * 40
    with pytest.raises(HubError, match=r"^127\.0\.0\.1:\d+ cannot be reached"):
        push()
    hub.failing = []
    assert sorted(push().changed) == OURS
    assert len(hub.repos["you/demo"].messages) == 2


@pytest.mark.parametrize("status", [500, 503, 0])
def test_a_commit_that_fails_leaves_the_dataset_and_what_was_sent_is_not_sent_again(hub, push, status):
    hub.failing = [("/commit/", status)]
    with pytest.raises(HubError, match=r"you/demo is whole: give the same|once it can, give the same command again"):
        push()
    assert [*hub.files("you/demo")] == [".gitattributes"]
    assert hub.count("PUT /lfs/") == 3
    hub.asked.clear()
    assert sorted(push().changed) == OURS
    assert hub.count("PUT /lfs/") == 0


def test_an_answer_that_is_lost_is_no_second_commit(hub, push, monkeypatch):
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
    ("request_", "status", "told"),
    [
        ("/repos/create", 401, "refuses the token; set HF_TOKEN to one that may write, or give `hf auth login`"),
        ("/commit/", 403, "may not write to you/demo; set HF_TOKEN"),
        ("GET /api/datasets/you/demo", 404, "knows no you/demo, or not for this token"),
        ("/commit/", 409, "you/demo is being changed by somebody else; give the same command again"),
        ("/commit/", 412, "you/demo was changed meanwhile; give the same command again"),
        ("/commit/", 413, "finds the set too large"),
        ("/commit/", 429, "was asked too much; wait a few minutes and give the same command again"),
        ("/commit/", 418, "refuses it (418: told to fail with 418; (the token))"),
        ("/repos/create", 502, "failed (502); you/demo is whole"),
        ("/validate-yaml", 500, "failed (500)"),
    ],
)
def test_what_the_hub_refuses_is_one_line_without_the_token(hub, push, request_, status, told):
    hub.failing = [(request_, status)]
    with pytest.raises(HubError) as refused:
        push()
    assert told in str(refused.value)
    assert "hf_secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_somebody_who_changes_the_dataset_meanwhile_is_not_overwritten(hub, push, monkeypatch):
    import hub_server

    real = hub_server._Handler._check_card

    def meanwhile(self, content):
        monkeypatch.setattr(hub_server._Handler, "_check_card", real)
        self.server.put("you/demo", "README.md", b"written meanwhile")
        real(self, content)

    monkeypatch.setattr(hub_server._Handler, "_check_card", meanwhile)
    with pytest.raises(HubError, match="was changed meanwhile"):
        push()
    push()
    assert hub.files("you/demo")["README.md"].decode().count("written meanwhile") == 1


def test_what_the_hub_remarks_on_the_card_is_told(hub, push):
    hub.warnings = ["no tasks"]
    push()
    assert push.told[-1].startswith("The Hub says of the card: ")
    assert push.told[-1].endswith("- no tasks")


@pytest.mark.parametrize("token", [None, "", "hf_wröng", "hf_wrong"])
def test_without_a_token_that_counts_nothing_is_sent(hub, push, monkeypatch, tmp_path, token):
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.delenv("HF_TOKEN") if token is None else monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(HubError, match="HF_TOKEN"):
        push()
    assert hub.repos == {}


def test_the_token_file_of_the_hub_will_do_and_goes_nowhere_else(hub, push, monkeypatch, tmp_path):
    token = os.environ["HF_TOKEN"]
    monkeypatch.delenv("HF_TOKEN")
    (tmp_path / "token").write_text(token)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    push()
    assert not any(token in each for each in hub.asked), "in no address"
    assert not any(token.encode() in content for content in hub.files("you/demo").values())
    assert not any(token in line for line in push.told)


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("http://me:secret@127.0.0.1:9", "127.0.0.1:9"),
        *((address, "HF_ENDPOINT") for address in ("nonsense", "http://[::1", "ftp://x", "http://", "http://x:y")),
    ],
)
def test_an_endpoint_without_a_hub_is_named_without_its_password(push, monkeypatch, address, named):
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    with pytest.raises(HubError, match=named) as failed:
        push()
    assert "secret" not in str(failed.value)


def test_a_server_that_is_no_hub_is_one_line(hub, push, monkeypatch):
    import hub_server

    monkeypatch.setattr(
        hub_server._Handler, "_route", lambda *given: given[0]._send(hub_server._AnswerError(200, b"<p>"))
    )
    with pytest.raises(HubError, match=r"^127\.0\.0\.1:\d+ does not answer as the Hub does \(.*\); mind HF_ENDPOINT$"):
        push()


def test_offline_by_the_user_stays_offline_and_by_groundset_does_not(hub, push, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("groundset.privacy._taken_offline", False)
    with pytest.raises(
        HubError, match="HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE keeps this process from the Hub; unset it"
    ):
        push()
    assert hub.asked == []
    monkeypatch.setattr("groundset.privacy._taken_offline", True)
    assert push().changed
    assert constants.HF_HUB_OFFLINE, "for all others"


def test_without_room_for_temporary_files_nothing_is_asked(hub, push, monkeypatch):
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
def test_names_of_repositories_and_branches_are_checked(hub, push, option, value):
    with pytest.raises(InputError, match=f"--{option}"):
        push(**{option: value})
    assert hub.asked == []


def test_only_signed_samples_go_where_they_are_asked_for(hub, push, folder):
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


def test_whoever_loads_the_dataset_from_the_hub_gets_its_rows(hub, push, tmp_path):
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
def test_an_answer_of_any_size_is_not_taken(hub, push, monkeypatch, asked):
    push()
    monkeypatch.setattr("groundset.sets.hub.hub._ANSWER_BYTES", 100_000)
    head = b'HTTP/1.1 200 OK\r\nETag: "1"\r\nX-Repo-Commit: 1\r\nContent-Type: application/json\r\n\r\n'
    answering(monkeypatch, asked, head, b"[" * 1000)
    with pytest.raises(HubError, match=r"^127\.0\.0\.1:\d+ answered with more than .* MiB; mind HF_ENDPOINT$"):
        push(licence="mit")
    assert len(hub.repos["you/demo"].messages) == 2


def test_a_hub_that_does_not_finish_is_given_up(hub, push, monkeypatch):
    monkeypatch.setattr("groundset.sets.hub.hub._ANSWER", 0.5)
    answering(monkeypatch, "/tree/", b"HTTP/1.1 200 OK\r\n\r\n", b" ")
    with pytest.raises(HubError, match=r"did not answer within 0\.5 seconds|cannot be reached"):
        push()


@pytest.mark.parametrize("hint", [b"Retry-After: 100000", b'RateLimit: "api";r=0;t=100000'])
def test_a_pause_of_a_day_is_not_made(hub, push, monkeypatch, hint):
    slept = []
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", slept.append)
    head = b"HTTP/1.1 429 No\r\nConnection: close\r\nContent-Length: 0\r\n%s\r\n\r\n" % hint
    answering(monkeypatch, "PUT /lfs/", head, parts=0)
    with pytest.raises(HubError, match="was asked too much; wait a few minutes"):
        push()
    assert slept
    assert max(slept) <= 10


def test_files_without_number_are_refused(hub, push, monkeypatch):
    push()
    monkeypatch.setattr("groundset.sets.hub.hub._MOST_FILES", 3)
    with pytest.raises(HubError, match=r"lists more than 3 files; name another repository$"):
        push(licence="mit")
