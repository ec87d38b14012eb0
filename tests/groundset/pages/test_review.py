"""The review pages over HTTP: access, verdicts, and what is shown when."""

import html
import json
import re
import sqlite3
from contextlib import closing, nullcontext
from unittest.mock import Mock

import pytest
from pages_run import ASKED, EVIL, EVILS, review
from refusal import refuses

from groundset.pages import review as command
from groundset.pages.review import make_app, serving
from groundset.pages.verdicts import in_review_order
from groundset.run.folder import DATABASE
from groundset.run.run import Run

TOKEN = "token"


class Pages:
    """The pages of a reviewer, asked for without a browser; samples are numbered by their ids."""

    def __init__(self, run, reviewer="ann"):
        self.run, self.reviewer = run, reviewer
        self.numbers = {
            sample.id: number
            for number, sample in enumerate(in_review_order((*run.samples, *run.unsure)), 1)
        }
        self.client = make_app(run, reviewer, TOKEN).test_client()

    def get(self, path="", *, status=200, **options):
        answer = self.client.get(f"/{TOKEN}/{path}", follow_redirects=True, **options)
        assert answer.status_code == status, answer.text
        return answer.text

    def item(self, name):
        return self.get(self.numbers[name])

    def submit(self, name, verdict, *reasons, note="", status=200):
        form = {"verdict": verdict, "reason": list(reasons), "note": note}
        answer = self.client.post(
            f"/{TOKEN}/{self.numbers[name]}", data=form, follow_redirects=True
        )
        assert answer.status_code == status, answer.text
        return answer.text

    def kept(self):
        found = Run(self.run.folder).reviews
        return [(each.sample_id, each.verdict, each.reasons, each.note) for each in found]


def heading(page):
    found = re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)
    return html.unescape(found[1])


@pytest.mark.parametrize("path", ["/", "/tokentoken/1", "/Token/result"])
def test_pages_are_there_for_who_knows_the_token(make_run, path):
    pages = Pages(make_run())
    for ask in (pages.client.get, pages.client.post):
        answer = ask(path, data={"verdict": "signed"})
        assert answer.status_code == 404
        assert "Open the address printed by `groundset review`" in answer.text
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert pages.kept() == []


def test_headers(make_run):
    pages = Pages(make_run())
    for path in ("1", "result"):
        answer = pages.client.get(f"/token/{path}")
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Referrer-Policy"] == "same-origin"
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert not re.search(r"\sstyle=|\son\w+=", answer.text)
        links = re.findall(r'(?:href|src|action)="([^"]+)"', answer.text)
        assert {link.split("/")[1] for link in links if link != "data:,"} == {TOKEN}


def test_sign_refuse_and_change(make_run):
    pages = Pages(make_run())
    order = [sample.id for sample in in_review_order(pages.run.samples)]
    asked = {f"s{number}": question for number, (question, _) in enumerate(ASKED)}
    assert heading(pages.get()) == asked[order[0]]
    after = pages.submit(order[0], "signed")
    assert heading(after) == asked[order[1]]
    assert f'<span class="chip signed">signed</span> {asked[order[0]]}' in after
    assert "<strong>1</strong> of 4 reviewed by ann" in after
    assert "<strong>100 %</strong>" in after
    pages.submit(order[1], "refused", "vague", "other", note="Which\r\none?")
    pages.submit(order[0], "refused", "malformed")
    pages.submit(order[3], "signed", "vague", note="fine")
    assert heading(pages.get()) == asked[order[2]], "another session goes on where this one stopped"
    assert heading(pages.submit(order[2], "signed")) == "All samples are reviewed"
    assert pages.kept() == [
        (order[0], "signed", (), ""),
        (order[1], "refused", ("vague", "other"), "Which one?"),
        (order[0], "refused", ("malformed",), ""),
        (order[3], "signed", (), "fine"),
        (order[2], "signed", (), ""),
    ]
    shown = pages.item(order[1])
    assert re.findall(r'value="(\w+)"[^>]* checked', shown) == ["vague", "other"]
    assert "\nWhich one?</textarea>" in shown


def test_a_refusal_needs_a_reason(make_run):
    pages = Pages(make_run())
    assert "<fieldset data-sends>" in (
        asked := pages.submit("s0", "refused", note="dull", status=400)
    )
    assert "Choose at least one reason" in asked
    kept = pages.submit("s0", "refused", "vague", "other", status=400)
    assert "<fieldset data-sends>" not in kept
    assert "Say in the note" in kept
    assert re.findall(r'value="(\w+)"[^>]* checked', kept) == ["vague", "other"], (
        "what was chosen is not lost"
    )
    pages.submit("s0", "refused", "nosuch", status=400)
    pages.submit("s0", "perhaps", status=400)
    pages.submit("s0", "signed", note="x" * 200_000, status=413)
    for path in ("0", "5", "-1", "nosuch", "static/../server.py"):
        pages.get(path, status=404)
    assert pages.kept() == []


def test_others_and_the_judge_are_hidden_before_the_verdict(make_run):
    run = make_run(reviews=[review("s1", "refused", "vague", reviewer="ben")])
    pages = Pages(run)
    before = pages.item("s1")
    assert not re.search(r"ben|0\.43|at rank", before)
    pages.submit("s1", "signed")
    after = pages.item("s1")
    assert "ben refused it" in after
    assert "0.43" in after
    assert "at rank 2" in after


def test_passages_are_marked_and_stand_in_their_document(make_run):
    pages = Pages(make_run(changes={2: {"retrieval_gt": ()}, 3: {"metadata": {"evidence": 7}}}))
    shown = pages.item("s1")
    assert (
        '<mark class="evidence">The bridge was built by </mark><mark class="evidence answer">Ada'
        " Lund</mark>" in shown
    )
    before = re.search(r"Text before</summary><div[^>]*>(.*?)</div>", shown, re.DOTALL)
    assert before[1].strip() == "The **ferry** leaves Tollvik at nine, except on Sundays."
    assert "Text after" not in shown
    assert "simple, fact, en" in shown
    assert "Meant to be unanswerable" in pages.item("s2")
    assert pages.item("s3").count('class="evidence') == 0, (
        "imported samples may have any value there"
    )


@pytest.mark.parametrize("evil", EVILS)
def test_texts_never_become_markup(make_run, evil):
    asked = [(f"{question}{evil}", f"{answer}{evil}") for question, answer in ASKED]
    changes = {0: {"evolution": evil, "metadata": {"kind": evil, "evidence": [evil]}}}
    run = make_run(
        asked=asked, evil=evil, changes=changes, reviews=[review("s0", reviewer=f"<b>{evil}")]
    )
    pages = Pages(run, reviewer="<b>ann</b>")
    after = pages.submit("s0", "refused", "other", note=f"see: {evil}")
    for text in (after, pages.item("s0"), pages.get("result")):
        assert text.count("<script>") == 1, "the page's own"
        assert "<img" not in text
        assert "<b>" not in text
        assert text.count("</textarea>") == text.count("<textarea")
        assert not re.search("[\u202a-\u202e\u2028\x1b\x00]", text)


def test_unsure_questions_are_settled_by_ticking_passages(make_run):
    said = {"answer": "by ferry", "probability": 0.4, "reason": "half of it"}
    own = {
        "readings": [{"chunk_id": f"c{n}", **said} for n in (0, 1)],
        "ranking": ["c2", "c1", "c0"],
    }
    bare = {"answer": "", "evolution": "unsure", "retrieval_gt": (), "metadata": own}
    run = make_run(changes=dict.fromkeys((1, 2, 3), bare))
    with closing(sqlite3.connect(run.folder / DATABASE)) as database, database:
        database.execute("UPDATE attempts SET state = 'unsure' WHERE number IN (2, 3, 4)")
    pages = Pages(run)

    def settle(name, status=200, **form):
        path = f"/{TOKEN}/{pages.numbers[name]}"
        told = {"verdict": "signed", **form}
        answer = pages.client.post(path, data=told, follow_redirects=True)
        assert answer.status_code == status
        return answer.text

    assert [sample.id for sample in run.samples] == ["s0"]
    assert "half of it" in pages.item("s1")
    kept = settle("s1", 400, answer="Ada Lund")
    assert "write the answer, or neither" in kept
    assert "\nAda Lund</textarea>" in kept
    settle("s1", 400, answer="Ada Lund", passage="c3")
    settle("s1", answer="Ada Lund", passage=["c1"])
    settle("s2", answer="both", passage=["c0", "c1"], together="on")
    settle("s3")
    found = {sample.id: sample for sample in Run(run.folder).samples}
    assert [(each.evolution, each.answer, each.retrieval_gt) for each in found.values()][1:] == [
        ("simple", "Ada Lund", (("c1",),)),
        ("multi_context", "both", (("c0",), ("c1",))),
        ("unanswerable", "The documents do not say.", ()),
    ]
    first = found["s1"]
    assert (first.retrieval.rank, first.evidence) == (2, ("Ada Lund",))
    assert first.metadata["answered_by"] == "ann"
    assert (run.folder / "samples.jsonl").read_text().count("answered_by") == 3
    assert re.findall(r'value="(c\d)"[^>]* checked', pages.item("s1")) == ["c1"]
    settle("s1", answer="by Ada Lund", passage=["c0", "c1"])
    changed = Run(run.folder).samples[1]
    assert (changed.answer, changed.retrieval_gt) == ("by Ada Lund", (("c0", "c1"),))


def test_two_reviewers_and_their_kappa(make_run):
    run = make_run(asked=ASKED * 5)
    ann, ben = Pages(run), Pages(run, reviewer="ben")
    for number in range(12):
        ann.submit(f"s{number}", "refused" if number < 4 else "signed", "vague")
        ben.submit(f"s{number}", "refused" if number < 3 else "signed", "vague")
    shown = ben.get("result")
    assert "Result so far" in shown
    assert re.search(
        r"<th[^>]*>ann</th><td[^>]*>12</td><td[^>]*>8</td><td>67 % \(39 to 86 %\)", shown
    )
    assert "ann and ben agree on 11 of 12 samples: Cohen’s kappa 0.80 (0.15 to 0.96)" in shown
    assert "Nobody has reviewed" in Pages(make_run("other")).get("result")


def test_samples_come_in_one_random_order(make_run):
    samples = make_run(asked=ASKED * 10).samples
    order = in_review_order(samples)
    assert order == in_review_order(reversed(samples))
    assert order != list(samples)
    assert len(order) == 40


def test_run_without_samples(make_run):
    assert heading(Pages(make_run(asked=())).get()) == "Result so far"


def test_a_damaged_run_is_one_line(make_run):
    pages = Pages(make_run())
    (pages.run.folder / "run.sqlite").write_bytes(b"x" * 10_000)
    assert "run.sqlite is damaged" in pages.get("1", status=500)


def test_the_command_serves_until_it_is_stopped(make_run, monkeypatch, capsys):
    stopped = Mock()  # not `Event.wait` itself, which threads of other tests use
    stopped.Event().wait.side_effect = KeyboardInterrupt
    monkeypatch.setattr(command, "threading", stopped)
    run = make_run(reviews=[review("s0"), review("s1", "refused", "vague")])
    monkeypatch.setattr(command, "open_run", lambda _: run)
    monkeypatch.setattr(command, "serving", lambda *_: nullcontext("http://127.0.0.1:1/t/"))
    command.review(command.ReviewOptions(run=run.folder, reviewer=" ann ", open=False))
    said = capsys.readouterr()
    assert said.out == "open http://127.0.0.1:1/t/ in a browser; Ctrl-C stops it\n"
    assert said.err == "reviewed 2 of 4, 1 signed\n"
    with pytest.raises(ValueError, match="at least 1 character"):
        command.ReviewOptions(run=run.folder, reviewer=" ")


def test_verdicts_of_a_file_are_recorded_all_or_none(make_run, tmp_path, monkeypatch, capsys):
    run = make_run()
    monkeypatch.setattr(command, "open_run", lambda _: run)

    def record(name, *lines):
        (tmp_path / name).write_text("\n".join(lines))
        command.review(
            command.ReviewOptions(run=run.folder, reviewer="ann", verdicts=tmp_path / name)
        )

    record(
        "of_a_spreadsheet.csv",
        "ID;verdict;reason;reviewer",
        "s0;signed;;",
        's1;Bad;"vague, incomplete";ben',
        "s2;;;",
    )
    record(
        "judged.jsonl",
        *(
            json.dumps({"id": name, "verdict": verdict, "reason": "not clear: who?", "answer": "x"})
            for name, verdict in (("s0", "bad"), ("s1", "good"), ("s2", None))
        ),
    )
    assert capsys.readouterr().out == "recorded 2 verdicts, 1 signed\n" * 2
    kept = [each.model_copy(update={"at": None}) for each in Run(run.folder).reviews]
    given = (
        review("s0"),
        review("s1", "refused", "vague", "incomplete", reviewer="ben"),
        review("s0", "refused", "other", note="not clear: who?"),
        review("s1", note="not clear: who?"),
    )
    assert kept == [each.model_copy(update={"at": None}) for each in given]
    good = '{"id": "s0", "verdict": "good"}'
    for line, message in (
        ('{"id": "s9", "verdict": "good"}', "line 2, column id: no sample s9 in"),
        (
            '{"id": "s1", "verdict": "ok"}',
            "line 2, column verdict: 'ok' is none of signed, good, refused, bad",
        ),
        ('{"id": "s1", "verdict": 1}', "line 2, column verdict: must be text"),
    ):
        with refuses(message):
            record("wrong.jsonl", good, line)
    with refuses("no row has a verdict; write signed, good, refused, bad in a column `verdict`"):
        record("none.csv", "id,verdicts", "s0,good")
    assert len(Run(run.folder).reviews) == len(kept)


def test_the_port_is_taken(make_run):
    run = make_run()
    with serving(run, "ann") as address:
        port = int(address.split(":")[2].split("/")[0])
        with refuses(f"^--port {port}: .*; choose another port$"), serving(run, "ann", port):
            pass


def test_review_in_a_browser(make_run, tab):
    run = make_run(asked=[(f"{question}{EVIL}", answer) for question, answer in ASKED], evil=EVIL)
    first, second, third, _ = (sample.id for sample in in_review_order(run.samples))
    with serving(run, "ann") as address:
        tab.goto(address)
        assert tab.title() == "1 of 4"
        for key in ("3", "2", "2", "n"):  # a reason, and one that is taken back
            tab.keyboard.press(key)
        tab.keyboard.type("says srn 1")
        tab.keyboard.press("Escape")
        with tab.expect_navigation():
            tab.keyboard.press("r")
        assert tab.title() == "2 of 4"
        with tab.expect_navigation():
            tab.get_by_role("button", name="Sign").click()
        with tab.expect_navigation():
            tab.keyboard.press("s")
        with tab.expect_navigation():
            tab.keyboard.press("u")
        assert tab.title() == "3 of 4"
        with tab.expect_navigation():
            tab.keyboard.press("ArrowLeft")
        assert tab.title() == "2 of 4"
        for width in (360, 1280):
            tab.set_viewport_size({"width": width, "height": 800})
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
        tab.goto(f"{address}result")
        assert tab.locator("li .chip").all_inner_texts() == ["refused", "signed", "signed"]
    refused = (first, "refused", ("unanswerable",), "says srn 1")
    assert Pages(run).kept() == [refused, (second, "signed", (), ""), (third, "signed", (), "")]
    assert [line for line in tab.heard if not line.startswith((address, "data:"))] == []
    assert not list(run.folder.glob("*-wal"))
