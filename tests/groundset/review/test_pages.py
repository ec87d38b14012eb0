"""The review pages over HTTP: access, content and forms."""

import html
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from small_run import ASKED, corpus, put, sample

from groundset.store.run_store import RunStore
from programs.types import Reject

HOSTILE = '</textarea></h1><script>document.title="run"</script>"\'&lt; \x00\x1b[2J\u202e\u2028 ' + "x" * 20_000
UNCLEAR = Reject(step="judge", reason="not independent", chunk_id="guide-0001", probability=0.1234, question="Why so?")
THIN = Reject(step="chunk", reason="not content", chunk_id="guide-0000", probability=0.1)


def heading(page: str) -> str:
    return html.unescape(re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)[1])


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/wrong/", {}),
        ("/tokentoken/", {}),
        ("/static/review.css", {}),
        ("/token/", {"Host": "evil.example"}),
        ("/token/", {"Host": "evil.example:80"}),
        ("/token/", {"Host": "127.0.0.1.evil.example"}),
        ("/token/", {"Origin": "https://evil.example"}),
        ("/token/", {"Origin": "null"}),
        ("/token/", {"Origin": "http://localhost:1"}),
        ("/token/static/review.js", {"Host": "evil.example"}),
    ],
)
def test_token_host_and_origin_are_checked(make_run, review, path, headers):
    page = review(make_run())
    for ask in (page.client.get, page.client.post):
        answer = ask(path, headers=headers)
        assert answer.status_code == 403
        assert "Tollvik" not in answer.text
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")


def test_cross_site_forms_are_rejected(make_run, review):
    folder = make_run()
    page = review(folder)
    item = f"/token/item/{page.session.items[0].key}"
    for origin, status in (("https://evil.example", 403), ("http://localhost", 303)):
        assert page.client.post(item, data={"do": "sign"}, headers={"Origin": origin}).status_code == status
    with RunStore.review(folder) as store:
        assert len(store.reviews.all()) == 1


def test_security_headers(make_run, review):
    page = review(make_run())
    page.submit(0, "sign")
    for path in ("/token/", "/token/list", "/token/static/review.css", f"/token/item/{page.session.items[0].key}"):
        answer = page.client.get(path)
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Referrer-Policy"] == "same-origin"
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        answer.close()
    text = page.item(0)
    assert not re.search(r"\sstyle=|\son\w+=|<style|<script>", text)
    links = re.findall(r'(?:href|src|action)="([^"]+)"', text)
    assert {link.split("/")[1] for link in links if link != "data:,"} == {"token"}


def test_sign_refuse_and_skip(make_run, review):
    page = review(make_run())
    text = page.get()
    assert heading(text) == ASKED[0][0]
    keys = re.findall(r'data-key="(.*?)"', text)
    assert keys == ["l", "u", "1", "s", *"23456789", "e", "Enter"]
    text = page.submit(0, "sign")
    assert heading(text) == ASKED[1][0]
    assert "1</strong> of 4 samples reviewed" in text
    assert "<strong>100 %</strong>\n(21 to 100)" in text
    text = page.submit(1, "wrong_premise")
    assert "Refused: wrong premise" in text
    page.submit(2, "skip")
    text = page.submit(3, "sign")
    assert heading(text) == ASKED[2][0], "what was skipped comes last"
    assert "All 4 samples are reviewed" in page.submit(2, "incomplete")
    assert [page.own(place).reason for place in range(4)] == [None, "wrong_premise", "incomplete", None]


def test_critic_decisions_are_hidden_before_the_verdict(make_run, review):
    page = review(make_run())
    text = page.get()
    assert "0.43" not in text
    assert "at rank" not in text
    assert "sentence" in text, "what steps wrote is shown"
    text = page.submit(0, "sign")
    assert "Judge: 0.43" in text
    shown = page.item(0)
    assert "0.43" in shown
    assert "at rank 1" in shown


def test_passage_is_marked_and_shown_in_its_document(make_run, review):
    text = review(make_run()).item(1)
    assert '<mark class="focus ">The bridge was built by </mark><mark class="focus found">Ada Lund</mark>' in text
    before, after = re.findall(r'<div class="text around" dir="auto">(.*?)</div>', text, re.DOTALL)
    assert before.strip() == "The **ferry** leaves Tollvik at nine."
    assert "forty metres high" in after
    assert "guide.md</bdi>, characters 38 to 79" in text


def test_unanswerable_questions_and_conversations_are_marked(tmp_path, review):
    document, chunks = corpus()
    messages = [{"role": "user", "content": "Is there a <b>bridge</b>?"}, {"role": "assistant", "content": "yes"}]
    with RunStore.create(tmp_path, meta={}, documents=[document], chunks=chunks) as store:
        unanswerable = {"retrieval_gt": (), "metadata": {"answerable": False}}
        put(store, 0, sample("a", "How old is the ferry?", "The documents do not say.", chunks[0], **unanswerable))
        asked = {"metadata": {"conversation": messages}}
        put(store, 1, sample("b", "Who built the bridge?", "Ada Lund", chunks[1], **asked))
    page = review(tmp_path)
    open_question, follow_up = page.item(0), page.item(1)
    assert "Sign it if no passage answers it" in open_question
    assert "stand-alone form" not in open_question
    assert '<dt>user</dt><dd dir="auto">Is there a &lt;b&gt;bridge&lt;/b&gt;?</dd>' in follow_up
    assert "The last message in its stand-alone form" in follow_up
    assert "Sign it if" not in follow_up
    page.submit(0, "sign")
    assert "Found by search" not in page.item(0)


def test_corrections(make_run, review):
    page = review(make_run())
    text = page.submit(0, "correct", question="When does the ferry leave?\r\nSay the hour.", answer=ASKED[0][1])
    assert "Signed as corrected" in text
    own = page.own(0)
    assert (own.verdict, own.question, own.answer) == ("good", "When does the ferry leave?\nSay the hour.", None)
    assert "<del>When does the ferry leave Tollvik?</del>" in page.item(0)
    page.submit(0, "sign")
    assert page.own(0).question is not None, "what is signed is what was shown"
    page.submit(1, "correct", question=ASKED[1][0], answer=ASKED[1][1])
    assert page.states()[1] == "signed", "nothing was changed"
    text = page.submit(2, "correct", question=" ", answer="kept", status=400)
    assert "must not be empty" in text
    assert ">\nkept</textarea>" in text
    assert page.states()[2] == "unread"


def test_hostile_texts_are_escaped(make_run, review):
    page = review(make_run(asked=[(HOSTILE, HOSTILE), ASKED[1]]), reviewer="<b>ann</b>")
    page.submit(0, "correct", question=HOSTILE, answer=HOSTILE)
    assert page.states()[0] == "signed", "what a field leaves out was not corrected"
    page.submit(0, "correct", question=HOSTILE + "!", answer=HOSTILE)
    after = page.item(1, f"?after={page.session.items[0].key}")
    for text in (page.item(0), page.get("list"), after):
        assert "<script>" not in text
        assert "\x1b" not in text
        assert "\u202e" not in text.split("<textarea")[0]
        assert "\\u202e" in text
    text = page.get("list?words=<script>alert(1)</script>&state=<b>&document='\">")
    assert "<script>alert" not in text
    assert "<b>" not in text


def test_conflicts_between_tabs_are_shown(make_run, review):
    page = review(make_run())
    page.submit(0, "sign", seen="0")
    assert "signed in another tab" in page.submit(0, "vague", seen="0")
    assert "another tab" not in page.submit(0, "malformed")
    assert page.own(0).reason == "malformed"


def test_signing_keeps_the_displayed_correction(make_run, review):
    page = review(make_run())
    page.submit(0, "correct", question="When does it leave?", answer=ASKED[0][1])
    corrected = str(page.number(0))
    assert "signed in another tab" in page.submit(0, "sign", seen="0")
    assert page.own(0).question is None
    page.submit(0, "sign", seen=corrected)
    assert page.own(0).question == "When does it leave?"
    page.submit(1, "sign", seen=corrected)
    assert page.own(1).question is None, "a row about another item"


def test_final_page_counts_unread_items(make_run, review):
    page = review(make_run(samples=2))
    page.submit(0, "sign")
    text = page.get(f"next/{page.session.items[1].key}")
    assert heading(text) == "Not reviewed yet: 1 of 2 samples"
    assert "Skipped" not in text
    assert "Skipped: 1." in page.submit(1, "skip")
    assert heading(page.get()) == ASKED[1][0]
    assert "All 2 samples are reviewed" in page.submit(1, "sign")


def test_undo_shows_the_item(make_run, review):
    page = review(make_run())
    page.submit(0, "sign")
    text = page.post("undo")
    assert "Your last verdict was undone." in text
    assert heading(text) == ASKED[0][0]
    assert "There is nothing to undo." in page.post("undo")


def test_filters_persist_and_allow_bulk_verdicts(make_run, review):
    page = review(make_run())
    page.submit(3, "vague")
    text = page.get("list?asks=time")
    assert re.findall(r"<h1>(.*?)</h1>", text) == ["2 of 4"]
    text = page.get("?asks=time")
    assert heading(text) == ASKED[0][0]
    assert "clear the filter" in text
    item = page.session.items[0].key
    assert "No more items in this filter" in page.post(f"item/{item}?asks=time", do="sign", seen="0")
    page.post("undo")
    text = page.post("all?asks=time", do="sign")
    assert "Sign: 1 at once?" in text
    assert "Unchanged: 1," in text
    assert page.session.counts()["unread"] == 3, "nothing is stored before confirmation"
    assert "Sign: 1 at once?" in page.post("all?asks=time", do="sign", count="2"), "the number changed: confirm again"
    page.post("all?asks=time", do="sign", count="1")
    assert page.states() == ["signed", "unread", "unread", "refused"]
    page.post("undo")
    assert page.session.counts()["unread"] == 3
    page.post("all", do="nonsense", status=400)


def test_agreement_is_shown(make_run, review):
    folder = make_run()
    ann, bob = review(folder, reviewer="ann"), review(folder, reviewer="bob")
    for place, do in enumerate(("sign", "vague", "sign")):
        ann.submit(place, do)
    text = bob.get()
    assert "ann" not in text
    text = bob.submit(0, "sign")
    assert "ann: signed" in text
    assert "with ann: 1 of 1</span>" in text, "kappa is undefined"
    bob.submit(1, "malformed")
    text = bob.submit(2, "vague")
    assert "with ann: 2 of 3, kappa 0.40" in text


def test_reasons_of_rejects(make_run, review):
    folder = make_run(samples=1, rejects=[THIN, UNCLEAR])
    page = review(folder, kind="reject")
    text = page.get()
    assert heading(text) == "Is this passage worth asking about?"
    assert "too thin" in text
    assert "not content" not in text, "reasons are shown after the verdict"
    page.submit(0, "vague", status=400)
    text = page.submit(0, "too_thin")
    assert "Refused by: chunk: not content" in text
    assert heading(text) == "Why so?"
    assert "not independent" not in text
    assert "0.12" not in text
    assert '<mark class="focus ' in text
    assert "Good after all" in text
    text = page.submit(1, "sign")
    assert "Score: 0.12" in text
    assert "All 2 rejects are reviewed" in text
    assert "references" in page.get("list")


def test_run_without_samples(make_run, review):
    page = review(make_run(samples=0))
    assert "There are no samples yet" in page.get()
    assert "0 of 0" in page.get("list")
    assert "There are no rejects yet" in review(make_run("other", samples=1), kind="reject").get()


def test_unknown_pages_and_invalid_forms(make_run, review):
    page = review(make_run())
    page.get("item/nosuch", status=404)
    page.get("nosuch", status=404)
    page.get("static/../pages.py", status=404)
    page.submit(0, "", status=400)
    page.submit(0, "sign", question="x" * 2_000_000, status=413)
    assert page.session.counts()["unread"] == 4


def test_concurrent_requests(make_run, review):
    folder = make_run(asked=ASKED * 20, samples=80)
    ann, bob = review(folder, reviewer="ann"), review(folder, reviewer="bob")
    with ThreadPoolExecutor(8) as pool:
        for page in (ann, bob):
            list(pool.map(lambda place, page=page: page.submit(place, "sign" if place % 3 else "vague"), range(80)))
    assert "with ann: 80 of 80" in bob.get()
    assert "with bob: 80 of 80" in ann.get()
    with RunStore.review(folder) as store:
        assert len(store.reviews.all()) == 160


def test_foreign_focus_values_are_ignored(tmp_path, review):
    document, chunks = corpus()
    with RunStore.create(tmp_path / "run", meta={}, documents=[document], chunks=chunks) as store:
        for number, focus in enumerate((3, {"a": 1}, ["Ada Lund"])):
            put(store, number, sample(f"q-{number}", *ASKED[1], chunks[1], metadata={"focus": focus}))
    page = review(tmp_path / "run")
    assert [page.item(place).count('class="focus') for place in range(3)] == [0, 0, 1]
