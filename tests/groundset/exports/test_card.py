"""Dry runs of a push: the files, the card, and what must not be published."""

import io
import json

import datasets
import pandas as pd
import pytest
import yaml
from evaluation_sets import RECORD, private_run, run_of, sample, saved, two_documents
from huggingface_hub import DatasetCard
from markdown_it import MarkdownIt
from refusal import refuses

from groundset.exports.card import markdown_text, public_model, public_name
from groundset.files import write_text
from groundset.run.record import SELECTED
from groundset.run.store import Review

CORPUS, QA = "data/corpus/corpus-00000-of-00001.parquet", "data/qa/test-00000-of-00001.parquet"


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_command_writes_a_dry_run(tmp_path, status_of, capsys):
    run, dry = saved(tmp_path / "run"), tmp_path / "dry"
    options = "--repo", "you/demo", "--licence", "MIT", "--out", dry
    assert status_of("push", run.folder, *options) == 0
    assert capsys.readouterr().out == f"2 questions and 4 chunks for you/demo: {dry}\n"
    assert sorted(contents(dry)) == ["README.md", CORPUS, QA, "groundset.json"]


def test_dry_run_loads_with_datasets(push, tmp_path):
    folder = tmp_path / "dry"
    assert push(out=folder) == (2, 4, None, None, None)
    push(out=tmp_path / "again")
    assert contents(tmp_path / "again") == contents(folder), "the same bytes"
    cache = {"cache_dir": str(tmp_path / "cache")}
    questions = datasets.load_dataset(str(folder), **cache)["test"]
    assert questions["id"][:] == ["q-1", "q-2"], "qa is the default"
    assert questions.features["retrieval_gt"] == datasets.List(
        datasets.List(datasets.Value("string"))
    )
    code = (folder / "README.md").read_text("utf-8").partition("```python\n")[2].partition("```")[0]
    seen = {}
    exec(
        code.replace('"you/demo"', repr(str(folder))).replace(', "qa")', f', "qa", **{cache})'),
        seen,
    )
    assert seen["question"]["id"] == "q-1"
    assert len(seen["corpus"]) == 4


def test_a_card_of_ones_own_is_not_replaced(push, tmp_path):
    write_text(tmp_path / "README.md", "# My own card\n")
    with refuses(r"holds files \(README\.md\)"):
        push(out=tmp_path)


def test_nothing_of_this_machine_is_published(push, tmp_path):
    found = two_documents()
    first, second = (each.contexts[0] for each in found.samples)
    hidden = {
        "path": "C:\\Users\\secret\\b.md",
        "doc_id": "of file:///home/secret/b.md",
        "chunk_id": "1 of \\\\secret\\share\\b.md",
        "title": "Plan in C:%5CUsers\\Secret Person\\b.docx",
    }
    moved = [
        first.model_copy(
            update={"path": "/home/secret/a.md", "metadata": {"persona": "a secret persona"}}
        ),
        second.model_copy(update=hidden),
    ]
    asked = [
        sample("q-1", moved[0], metadata={"persona": "a secret persona"}),
        sample("D:\\secret\\q", *moved),
    ]
    documents = [
        each.model_copy(update={"doc_id": chunk.doc_id})
        for each, chunk in zip(found.documents.values(), moved, strict=True)
    ]
    run = run_of(asked, documents, moved, record=RECORD)
    push(run, out=tmp_path / "dry")
    written = contents(tmp_path / "dry")
    for name, content in written.items():
        assert b"secret" not in content.lower(), name
    record = json.loads(written["groundset.json"])
    assert record["configuration"] == {"recipe": "evolved", "size": 2, "kinds": {"fact": 1.0}}
    assert record["models"]["lm"] == {"name": "tiny.gguf", "sha256": "a" * 64}
    assert record["models"]["critic_lm"]["name"] == "openai/big"
    assert not record.keys() & {"reason", "skipped", "source", "tracked"}
    qa = pd.read_parquet(io.BytesIO(written[QA]))
    provenance = [list(row) for row in qa["provenance"]]
    assert [place["path"] for place in provenance[1]] == ["a.md", "b.md"]
    corpus = pd.read_parquet(io.BytesIO(written[CORPUS]))
    assert {name for groups in qa["retrieval_gt"] for group in groups for name in group} == {
        *corpus["chunk_id"]
    }


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("hf/org/tiny-GGUF/tiny.gguf", "hf/org/tiny-GGUF/tiny.gguf"),
        ("qwen2.5-coder-0.5b", "qwen2.5-coder-0.5b"),
        ("router/org/model", "router/org/model"),
        ("deep/in/one.gguf", "one.gguf"),
        ("~/models/e", "e"),
        ("http://host/v1", "v1"),
    ],
)
def test_models_are_published_without_paths(name, shown):
    assert public_model(name) == shown


def test_places_in_the_given_folder_are_published():
    assert public_name("docs/users/list.md") == "docs/users/list.md"


def test_reviews_decide_what_is_published(card, tmp_path):
    chunk = two_documents().chunks[0]
    many = [sample(f"q-{number}", chunk, question=f"Why {number}?") for number in range(12)]
    reviews = [
        Review(
            sample_id=f"q-{number}",
            reviewer="ann-the-reviewer",
            verdict="signed" if number < 8 else "refused",
        )
        for number in range(10)
    ] + [
        Review(sample_id="q-0", reviewer="bob", verdict="refused"),
        Review(sample_id="gone", reviewer="bob", verdict="signed"),
    ]
    run = private_run(*many, reviews=reviews)
    text = card(run)
    # Wilson's interval of 7 in 10 by hand: (0.7 + z²/20 ± z √(0.021 + z²/400)) / (1 + z²/10) with z
    # = 1.96
    assert (
        "reviewed 10 questions of the run: 7 were signed by all who read them (70 %, 95 % Wilson"
        in text
    )
    assert "interval 40 to 89 %). What one of them refused is left out." in text
    assert "9 questions" in text
    assert "ann-the-reviewer" not in str(contents(tmp_path / "dry"))
    assert "7 questions" in card(run, signed=True)
    assert "the set contains only signed questions" in card(run, signed=True)


def test_card_describes_the_set(card):
    first, second = two_documents().samples
    odd = first.model_copy(update={"kind": "fact", "retrieval_gt": ()})
    text = card(private_run(odd, second))
    assert DatasetCard(text).data.to_dict() == {
        "license": "cc-by-4.0",
        "language": ["en"],
        "task_categories": ["question-answering", "text-retrieval"],
        "tags": ["rag", "evaluation", "synthetic", "groundset"],
        "configs": [
            {"config_name": "qa", "default": True, "data_files": [{"split": "test", "path": QA}]},
            {
                "config_name": "corpus",
                "default": False,
                "data_files": [{"split": "corpus", "path": CORPUS}],
            },
        ],
    }
    for part in (
        "2 questions, each",
        "4 passages from 2 documents",
        "| test | 2 | simple 2 | fact 1 |",
        "No passage answers 1 of the questions",
        f"| language model | tiny.gguf | {'a' * 64} |",
        "With the recipe evolved, in 9 attempts; 4 questions and passages were refused.",
        "Licence (stated by the",
        "No person has reviewed",
    ):
        assert part in text
    assert f"- {SELECTED}\n" in card(private_run(record={"selected": SELECTED}))
    imported = card(private_run(record={"configuration": {"recipe": None}, "models": {}}))
    assert "Imported from an evaluation set of another tool." in imported
    assert DatasetCard(imported).data.tags == ["rag", "evaluation", "groundset"]


def test_card_says_where_questions_come_from_and_what_passages_hold_of_persons(push, card, capsys):
    first, second = two_documents().samples
    stated = first.model_copy(update={"kind": "stated"})
    run = private_run(stated, second)
    text = card(run)
    assert (
        "stated, with their answers, by the documents themselves 1, written by a language" in text
    )
    assert "hold mail" not in text
    chunk = second.contexts[0]
    told = chunk.model_copy(
        update={"text": "Ask ann@tarn.example or bob@tarn.example, tel. 0555 1234, by 2024-05-06."}
    )
    guided = {"configuration": {"recipe": "evolved", "guided": True}}
    run = private_run(second.model_copy(update={"contexts": (told,)}), record=guided)
    run.chunks[told.chunk_id] = told
    text = card(run)
    assert "The passages hold mail addresses 2, telephone numbers 1." in text
    assert "begun by rules about a sentence" in text
    capsys.readouterr()
    assert push(run, dry_run=True) == (1, 4, None, None, None)
    assert "the passages hold mail addresses 2, telephone" in capsys.readouterr().err


HOSTILE = (
    "<script>alert(1)</script>",
    "a | b | c",
    "[click](https://evil.example)",
    "![x](https://evil.example/x.png)",
    "**bold** `code` ~~gone~~ __init__",
    "www.evil.example",
    "me@evil.example",
    "# head\n## more\r\n- list",
    "line\u2028separator\u0085next",
    "\u202ereversed",
    "---\nlicense: mit\n---",
    "```\nfence\n```",
    "$x^2$ \\[y\\]",
    "{{ card }} {% raw %}",
    "&lt;b&gt;",
    "x" * 5000,
)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped(name, card):
    table = f"| a | b |\n|---|---|\n| x {markdown_text(name)} | end |"
    page = MarkdownIt("gfm-like", {"linkify": False}).enable("table").render(table)
    assert page.count("<td>") == 2
    inside = page.partition("<td>x ")[2].partition("</td>")[0]
    assert "<" not in inside, "no link, picture, emphasis or HTML"
    assert "://" not in markdown_text(name)
    assert len(markdown_text(name)) < 500
    odd = two_documents().samples[0].model_copy(update={"evolution": name, "language": name})
    front = yaml.safe_load(card(private_run(odd)).split("---\n")[1])
    assert front["license"] == "cc-by-4.0"
    assert front["language"] == []
