"""Publishing a run: dry runs, the card, a local Hub, and what must not be published."""

import importlib.util
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pytest
import yaml
from evaluation_sets import run_of, sample, saved, two_documents
from huggingface_hub import DatasetCard, close_session, constants
from markdown_it import MarkdownIt

import groundset
from groundset import cli
from groundset.files import write_text
from groundset.out import hub as publishing
from groundset.out.card import markdown_text, public_model
from groundset.run.run import Run
from groundset.run.store import Review
from programs.errors import HubError, InputError

_SPEC = importlib.util.spec_from_file_location("hub_server", Path(__file__).with_name("hub_server.py"))
assert _SPEC
assert _SPEC.loader
hub_server = importlib.util.module_from_spec(_SPEC)
sys.modules["hub_server"] = hub_server  # its data class looks itself up
_SPEC.loader.exec_module(hub_server)

# The Hub's client hands bytes to httpx as that no longer likes them.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=<...>' to upload raw bytes:DeprecationWarning")
CORPUS, QA = "data/corpus/corpus-00000-of-00001.parquet", "data/qa/test-00000-of-00001.parquet"
OURS = ["README.md", CORPUS, QA, "groundset.json"]
RECORD = {
    "status": "complete",
    "attempts": 9,
    "rejects": 4,
    "reason": "/home/me/secret",
    "tracked": {"store": "/home/me/secret/mlruns"},
    "skipped": [{"path": "secret-plan.pdf", "reason": "encrypted"}],
    "source": "secret-folder",
    "models": {
        "lm": {"name": "/home/me/secret/tiny.gguf", "sha256": "a" * 64},
        "critic_lm": {"name": "openai/big@http://secret.example/v1", "sha256": None},
        "embedder": {"name": "owner/embedder", "sha256": "b" * 64},
    },
    "configuration": {
        "recipe": "evolved",
        "documents": ["/home/me/secret/docs"],
        "lm": "/home/me/secret/tiny.gguf",
        "kinds": {"fact": 1.0},
        "personas": ["a secret persona"],
        "like": ["a secret query"],
        "profile_file": "/home/me/secret/profiles.json",
        "profiles": {"secret": ["x"]},
        "engine": "ray=secret:10001",
        "embedder": "owner/embedder",
        "size": 2,
    },
}


def run_in_memory(*samples: Any, **parts: Any) -> Run:
    found = two_documents()
    record = RECORD | parts.pop("record", {})
    return run_of(samples or found.samples, list(found.documents.values()), record=record, **parts)


Push = Callable[..., publishing.Pushed]


@pytest.fixture
def push(monkeypatch: pytest.MonkeyPatch) -> Push:
    """Push a run in memory, by default the usual one."""

    def push(run: Run | None = None, **options: Any) -> publishing.Pushed:
        monkeypatch.setattr(publishing, "open_run", lambda folder: run or run_in_memory())
        return groundset.push("run", **{"repo": "you/demo", "licence": "cc-by-4.0", **options})

    return push


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def card(push: Push, tmp_path: Path) -> Callable[..., str]:
    """Return the card of a dry run."""

    def card(*given: Any, **options: Any) -> str:
        push(*given, **options, dry_run=tmp_path / "dry")
        return (tmp_path / "dry" / "README.md").read_text(encoding="utf-8")

    return card


def test_command_writes_a_dry_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, dry = saved(tmp_path / "run"), tmp_path / "dry"
    command = ["push", str(run.folder), "--repo", "you/demo", "--licence", "MIT", "--dry-run", str(dry)]
    with pytest.raises(SystemExit) as leaving:
        cli.main(command)
    assert leaving.value.code == 0
    assert capsys.readouterr().out == f"dry run for you/demo, 2 questions and 4 chunks: {dry}\n"
    assert sorted(contents(dry)) == OURS


def test_dry_run_loads_with_datasets(push: Push, tmp_path: Path) -> None:
    folder = tmp_path / "dry"
    assert push(dry_run=folder) == (2, 4, None, None, None)
    first = contents(folder)
    push(dry_run=folder)
    assert contents(folder) == first, "the same bytes"
    cache = {"cache_dir": str(tmp_path / "cache")}
    qa = datasets.load_dataset(str(folder), "qa", **cache)
    assert qa["test"]["id"][:] == ["q-1", "q-2"]
    assert qa["test"].features["retrieval_gt"] == datasets.List(datasets.List(datasets.Value("string")))
    assert datasets.load_dataset(str(folder), **cache).keys() == qa.keys(), "qa is the default"
    assert len(datasets.load_dataset(str(folder), "corpus", **cache)["corpus"]) == 4
    code = (folder / "README.md").read_text("utf-8").partition("```python\n")[2].partition("```")[0]
    seen: dict[str, Any] = {}
    exec(code.replace('"you/demo"', repr(str(folder))).replace(', "qa")', f', "qa", **{cache})'), seen)
    assert (seen["question"]["id"], len(seen["corpus"])) == ("q-1", 4)


def test_folders_and_cards_of_others_are_refused(push: Push, tmp_path: Path) -> None:
    dry = tmp_path / "dry"
    push(dry_run=dry)
    for name in ("data/mine.csv", "data/qa/mine.parquet", "data/qa/deep/test-00000-of-00001.parquet", "notes.txt"):
        write_text(dry / name, "precious")
        with pytest.raises(InputError, match=r"holds other files \("):
            push(dry_run=dry)
        (dry / name).unlink()
    (dry / "data/qa/deep").rmdir()
    write_text(dry / "README.md", "# My own card\n")
    with pytest.raises(InputError, match=r"README\.md was not written by groundset; .* then use replace_card"):
        push(dry_run=dry)
    push(dry_run=dry, replace_card=True)
    assert "# demo" in (dry / "README.md").read_text("utf-8")


def test_nothing_of_this_machine_is_published(push: Push, tmp_path: Path) -> None:
    found = two_documents()
    first, second = (each.contexts[0] for each in found.samples)
    hidden = {"path": "C:\\Users\\secret\\b.md", "doc_id": "C:\\Users\\secret\\b.md", "chunk_id": "/home/secret/b.md#1"}
    moved = [
        first.model_copy(update={"path": "/home/secret/a.md", "metadata": {"persona": "a secret persona"}}),
        second.model_copy(update=hidden),
    ]
    asked = [sample("q-1", moved[0], metadata={"persona": "a secret persona"}), sample("q-2", *moved)]
    documents = [
        each.model_copy(update={"doc_id": chunk.doc_id})
        for each, chunk in zip(found.documents.values(), moved, strict=True)
    ]
    run = run_of(asked, documents, moved, record=RECORD)
    push(run, dry_run=tmp_path / "dry")
    written = contents(tmp_path / "dry")
    for name, content in written.items():
        assert b"secret" not in content, name
    record = json.loads(written["groundset.json"])
    assert record["configuration"] == {"recipe": "evolved", "size": 2, "kinds": {"fact": 1.0}}
    assert record["models"]["lm"] == {"name": "tiny.gguf", "sha256": "a" * 64}
    assert record["models"]["critic_lm"]["name"] == "openai/big"
    assert not record.keys() & {"reason", "skipped", "source", "tracked"}
    qa = pd.read_parquet(io.BytesIO(written[QA]))
    provenance = [list(row) for row in qa["provenance"]]
    assert [place["path"] for place in provenance[1]] == ["a.md", "b.md"]
    corpus = pd.read_parquet(io.BytesIO(written[CORPUS]))
    assert {name for groups in qa["retrieval_gt"] for group in groups for name in group} == {*corpus["chunk_id"]}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("hf/org/tiny-GGUF/tiny.gguf", "hf/org/tiny-GGUF/tiny.gguf"),
        ("qwen2.5-coder-0.5b", "qwen2.5-coder-0.5b"),
        ("deep/in/one", "one"),
        ("~/models/e", "e"),
        ("http://host/v1", "v1"),
    ],
)
def test_models_are_published_without_paths(name: str, shown: str) -> None:
    assert public_model(name) == shown


def test_reviews_decide_what_is_published(card: Callable[..., str], tmp_path: Path) -> None:
    many = [sample(f"q-{number}", two_documents().chunks[0]) for number in range(12)]
    reviews = [
        Review(sample_id=f"q-{number}", reviewer="ann-the-reviewer", verdict="signed" if number < 8 else "refused")
        for number in range(10)
    ] + [
        Review(sample_id="q-0", reviewer="bob", verdict="refused"),
        Review(sample_id="gone", reviewer="bob", verdict="signed"),
    ]
    run = run_in_memory(*many, reviews=reviews)
    text = card(run)
    # Wilson's interval of 7 in 10 by hand: (0.7 + z²/20 ± z √(0.021 + z²/400)) / (1 + z²/10) with z = 1.96
    assert "reviewed 10 questions of the run: 7 were signed by all who read them (70 %, 95 % Wilson" in text
    assert "interval 40 to 89 %). What one of them refused is left out." in text
    assert "9 questions" in text
    assert "ann-the-reviewer" not in str(contents(tmp_path / "dry"))
    assert "7 questions" in card(run, signed=True)
    assert "the set contains only signed questions" in card(run, signed=True)


def test_card_describes_the_set(card: Callable[..., str]) -> None:
    first, second = two_documents().samples
    odd = first.model_copy(update={"metadata": {"kind": "fact"}, "retrieval_gt": ()})
    text = card(run_in_memory(odd, second))
    assert DatasetCard(text).data.to_dict() == {
        "license": "cc-by-4.0",
        "language": ["en"],
        "size_categories": ["n<1K"],
        "task_categories": ["question-answering", "text-retrieval"],
        "tags": ["rag", "evaluation", "synthetic", "groundset"],
        "pretty_name": "demo",
        "configs": [
            {"config_name": "qa", "default": True, "data_files": [{"split": "test", "path": QA}]},
            {"config_name": "corpus", "default": False, "data_files": [{"split": "corpus", "path": CORPUS}]},
        ],
    }
    for part in (
        "2 questions, each", "4 passages from 2 documents", "| test | 2 | simple 2 | fact 1 |",
        "No passage answers 1 of the questions", f"| language model | tiny.gguf | {'a' * 64} |",
        "With the recipe evolved, in 9 attempts; 4 questions and passages were refused.", "Licence (stated by the",
        "No person has reviewed",
    ):  # fmt: skip
        assert part in text
    imported = card(run_in_memory(record={"configuration": {"recipe": None}, "models": {}}))
    assert "Imported from an evaluation set of another tool." in imported
    assert DatasetCard(imported).data.tags == ["rag", "evaluation", "groundset"]


def test_splits_are_published(card: Callable[..., str], tmp_path: Path) -> None:
    ferry, clock, *_ = two_documents().chunks
    one, two = sample("q-1", ferry, question="One?"), sample("q-2", clock, question="Two?")
    text = card(run_in_memory(one, two), splits="train=0.5,test=0.5")
    assert [row["split"] for row in DatasetCard(text).data.configs[0]["data_files"]] == ["train", "test"]
    assert len(contents(tmp_path / "dry")) == 5


HOSTILE = (
    "<script>alert(1)</script>", "a | b | c", "[click](https://evil.example)", "![x](https://evil.example/x.png)",
    "**bold** `code` ~~gone~~ __init__", "www.evil.example", "me@evil.example", "# head\n## more\r\n- list",
    "line\u2028separator\u0085next", "\u202ereversed", "---\nlicense: mit\n---", "```\nfence\n```", "$x^2$ \\[y\\]",
    "{{ card }} {% raw %}", "&lt;b&gt;", "x" * 5000,
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name: str, card: Callable[..., str]) -> None:
    table = f"| a | b |\n|---|---|\n| x {markdown_text(name)} | end |"
    page = MarkdownIt("gfm-like", {"linkify": False}).enable("table").render(table)
    assert page.count("<td>") == 2
    inside = page.partition("<td>x ")[2].partition("</td>")[0]
    assert "<" not in inside, "no link, picture, emphasis or HTML"
    assert "://" not in markdown_text(name)
    assert len(markdown_text(name)) < 500
    odd = two_documents().samples[0].model_copy(update={"evolution": name, "language": name})
    front = yaml.safe_load(card(run_in_memory(odd)).split("---\n")[1])
    assert (front["license"], front["language"]) == ("cc-by-4.0", [])


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A Hub on this machine, and the token of somebody who may write to what is `you`'s."""
    with hub_server.serving() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_TOKEN", hub_server.TOKEN)
        monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
        yield server
        close_session()


def table(content: bytes) -> pd.DataFrame:
    return pd.read_parquet(io.BytesIO(content))


def test_push_creates_a_dataset_once(hub: Any, push: Push, capfd: pytest.CaptureFixture[str]) -> None:
    assert push() == (2, 4, f"{hub.url}/datasets/you/demo", False, True)
    files = hub.files("you/demo")
    assert sorted(files) == [".gitattributes", *OURS]
    assert table(files[QA])["id"].tolist() == ["q-1", "q-2"]
    assert hub.repos["you/demo"].messages == ["initial commit", "Evaluation set of 2 questions and 4 passages"]
    assert capfd.readouterr().err == f"texts go to {hub.url.removeprefix('http://')}\n"
    hub.asked.clear()
    assert push().is_changed is False
    assert len(hub.repos["you/demo"].messages) == 2
    assert hub.count("PUT") == hub.count("/commit/") == 0


def test_push_replaces_what_is_ours_and_keeps_what_is_not(hub: Any, push: Push) -> None:
    push()
    others = {"data/notes.parquet": b"theirs", "data/qa/notes.txt": b"theirs too", "LICENSE": b"text"}
    for path, content in others.items():
        hub.put("you/demo", path, content)
    ferry, clock, *_ = two_documents().chunks
    halves = run_in_memory(sample("q-1", ferry, question="One?"), sample("q-2", clock, question="Two?"))
    assert push(halves, splits="dev=0.5,train=0.5").is_changed
    expected = {".gitattributes", *others, *OURS} - {QA}
    assert {*hub.files("you/demo")} == expected | {QA.replace("test", "dev"), QA.replace("test", "train")}
    hub.put("you/demo", "README.md", b"# My own card\n")
    with pytest.raises(InputError, match=r"you/demo: its README.md was not written by groundset"):
        push()
    assert hub.files("you/demo")["README.md"] == b"# My own card\n"
    assert push(replace_card=True).is_changed


def test_private_datasets(hub: Any, push: Push) -> None:
    assert push(private=True).is_private is True
    assert push().is_private is True, "it stays so"
    hub.create("you/open")
    with pytest.raises(InputError, match=r"private: http\S+/datasets/you/open is public"):
        push(repo="you/open", private=True)
    assert [*hub.files("you/open")] == [".gitattributes"]


@pytest.mark.parametrize("status", [500, 0])
def test_failed_commit_changes_nothing_and_can_be_repeated(hub: Any, push: Push, status: int) -> None:
    hub.failing = [("/commit/", status)] * (6 if status == 0 else 1)
    with pytest.raises(HubError, match="run the command again"):
        push()
    hub.failing = []
    assert [*hub.files("you/demo")] == [".gitattributes"]
    assert hub.count("PUT /lfs/") == 2
    hub.asked.clear()
    assert push().is_changed
    assert hub.count("PUT /lfs/") == 0, "what was sent is there"


def test_changes_meanwhile_are_not_overwritten(hub: Any, push: Push, monkeypatch: pytest.MonkeyPatch) -> None:
    real = hub_server._Handler._check_card

    def meanwhile(self: Any, content: str) -> None:
        self.server.put("you/demo", "README.md", b"written meanwhile")
        real(self, content)

    monkeypatch.setattr(hub_server._Handler, "_check_card", meanwhile)
    with pytest.raises(HubError, match="was changed during the push"):
        push()
    assert hub.files("you/demo")["README.md"] == b"written meanwhile"


@pytest.mark.parametrize(
    ("request_", "status", "message"),
    [
        ("/repos/create", 401, "HF_TOKEN"),
        ("/commit/", 403, "write access to you/demo"),
        ("GET /api/datasets/you/demo", 404, "you/demo does not exist"),
        ("/commit/", 412, "you/demo was changed"),
        ("/commit/", 429, "too many requests"),
        ("/commit/", 418, "(418: told to fail with 418; (the token))"),
        ("/repos/create", 502, "failed (502); you/demo is unchanged"),
    ],
)
def test_hub_errors_are_one_line_without_the_token(
    hub: Any, push: Push, request_: str, status: int, message: str
) -> None:
    hub.failing = [(request_, status)] * 6
    with pytest.raises(HubError) as error:
        push()
    assert message in str(error.value)
    assert "hf_secret" not in str(error.value)
    assert "\n" not in str(error.value)


def test_token_of_the_login_is_used_and_not_leaked(
    hub: Any, push: Push, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    with pytest.raises(HubError, match="no token for the Hub; set HF_TOKEN or run"):
        push()
    assert hub.asked == []
    (tmp_path / "token").write_text(hub_server.TOKEN)
    push()
    assert not any(hub_server.TOKEN in each for each in hub.asked), "in no address"
    assert not any(hub_server.TOKEN.encode() in content for content in hub.files("you/demo").values())
    assert hub_server.TOKEN not in "".join(capfd.readouterr())


def test_offline_mode_of_the_user_is_respected(hub: Any, push: Push, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("groundset.privacy._taken_offline", False)
    with pytest.raises(HubError, match="HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE"):
        push()
    assert hub.asked == []
    monkeypatch.setattr("groundset.privacy._taken_offline", True)
    assert push().is_changed
    assert constants.HF_HUB_OFFLINE, "for all others"


@pytest.mark.parametrize("address", ["http://me:secret@127.0.0.1:9", "nonsense", "http://[::1"])
def test_unreachable_hub_is_one_line_without_the_password(
    push: Push, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    with pytest.raises(HubError) as failed:
        push()
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"repo": name}, "repo") for name in ("demo", "a/b/c", "you/../x", "you/de mo", "you/demo.git", "/demo", "")),
        ({"licence": "CC BY 4.0"}, "licence CC BY 4.0: use an identifier of the Hub"),
    ],
)
def test_names_are_checked(hub: Any, push: Push, options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        push(**options)
    assert hub.asked == []


READ = """
import json
from datasets import load_dataset
qa, corpus = load_dataset("you/demo"), load_dataset("you/demo", "corpus")
print(json.dumps({"qa": qa["test"]["id"][:], "corpus": len(corpus["corpus"]), "gt": qa["test"][0]["retrieval_gt"]}))
"""


def test_pushed_dataset_loads_with_datasets(hub: Any, push: Push, tmp_path: Path) -> None:
    push()
    kept = {name: value for name, value in os.environ.items() if name not in ("HF_TOKEN", "HF_HUB_OFFLINE")}
    environment = kept | {"HF_HOME": str(tmp_path / "home")}
    ran = subprocess.run([sys.executable, "-c", READ], env=environment, capture_output=True, text=True, timeout=100)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {"qa": ["q-1", "q-2"], "corpus": 4, "gt": [["ferry-0002"]]}
