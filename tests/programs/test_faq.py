"""Questions that documents state."""

import pytest

from groundset.programs.faq import stated_questions

HEADINGS = (
    "# Orders\n\n## How long does delivery take?\n\nTwo days.\n\n- To islands six.\n\n## Why is it"
    " so?\n\nYes.\n\n## What is new? Is it free?\n\nYes.\n\n## Where is the app?\n\nIt is"
    " here.\n\n**Who pays for the return?**\nWe pay.\n\nWhy not by air? It costs too much.\n\n## Q:"
    " Where is the claim filed?\n\nA: In Utrecht.\n\n## Do you see slow"
    " requests?\n\nRestart.\n\nHow to end a lease\n~~~~~\n\nWrite to us.\n\nO\n---"
)
ROWS = (
    "| no | question | answer |\n| --- | --- | --- |\n| 1 | My tap leaks. What can I do now? | Turn"
    " it off. |"
)


def test_headings_and_lines_with_the_text_below():
    assert stated_questions(HEADINGS) == [
        ("How long does delivery take?", "Two days.\n\n- To islands six."),
        ("Who pays for the return?", "We pay.\n\nWhy not by air? It costs too much."),
        ("Where is the claim filed?", "In Utrecht."),
        ("How to end a lease?", "Write to us."),
    ], (
        "left out: one that points back, two at once, a lost link, one in running text, one put to"
        " the reader"
    )


@pytest.mark.parametrize(
    ("after", "stated"), [("", 1), ("## Next", 1), ("### Or", 0), ("It costs more.", 0)]
)
def test_an_answer_that_goes_on_after_the_passage_is_left_out(after, stated):
    assert (
        len(stated_questions("## What does delivery cost?\n\nIt is free.", after=after)) == stated
    )


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (
            "Run both:\n\n```sh\n# stop it first\ntarnctl stop  # [now]\n\ntarnctl wipe\n```",
            "Run both:\n\n```sh\n# stop it first\ntarnctl stop  # [now]\n\ntarnctl wipe\n```",
        ),
        ("Bring:\n\n* a pass\n* two forms", "Bring:\n\n* a pass\n* two forms"),
        ("> [!NOTE]\n> It takes a day.", "It takes a day."),
        ("!!! note\nIt takes a day.", "It takes a day."),
        ("Wait a day. See #2165.", "Wait a day."),
        ("Wait a day (see section 4.2). For details on it, see tarn.yml.", "Wait a day."),
        ("Wait a day. Please see here for more on it.\n\nThen call.", "Wait a day.\n\nThen call."),
        ("Ask in the [tarn-admin] channel.", "Ask in the tarn-admin channel."),
        ("See a doctor at once.", "See a doctor at once."),
        ("Press the button as in the screenshot.", None),
        ("See below.", None),
        ("Do this:", None),
    ],
)
def test_answers_keep_their_form_without_what_only_the_document_can_show(written, kept):
    stated = stated_questions(f"## When is the vault of Tarn wiped?\n\n{written}\n\n## Next")
    assert [answer for _, answer in stated] == ([kept] if kept else [])


@pytest.mark.parametrize(
    ("listed", "asked"),
    [
        ("Bring these:\n\n1. Your pass. Have no pass at all?\n2. Two forms.", 0),
        ("Bring these:\n\n1. Who has lost a pass?\n\n2. Two forms.", 0),
        ("- Your pass.\n  1. Where was the pass lost?\n\nCall us.", 0),
        ("1. Where was the pass lost?\n\nCall us.\n\n2. Who pays for a pass?\n\nYou do.", 2),
    ],
)
def test_an_item_of_a_list_is_a_question_only_with_its_answer(listed, asked):
    assert len(stated_questions(listed)) == asked


def test_rows_of_a_table_whose_header_may_stand_in_the_topic():
    (stated,) = stated_questions(ROWS)
    assert stated == ("My tap leaks. What can I do now?", "Turn it off.")
    header, _, row = ROWS.splitlines()
    assert stated_questions(row, f"tickets > {header}") == [stated]
    assert stated_questions(row, "tickets > | no | name | place |") == []
    ticket = "| id | Subject | Resolution |\n| 1 | Pump hums after a flood | Dry the seal. |"
    assert stated_questions(ticket) == [("Pump hums after a flood", "Dry the seal.")]
    header, row = (
        "| q_en | q_fr | a_en | a_fr |",
        "| Who mends my tap? | Qui répare mon robinet ? | We do. | Nous. |",
    )
    found = [("Who mends my tap?", "We do."), ("Qui répare mon robinet ?", "Nous.")]
    assert stated_questions(row, f"taps > {header}") == found, "a pair of columns for each language"
