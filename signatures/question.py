"""What is asked of a model that writes, changes or answers questions."""

import dspy


class AskPassage(dspy.Signature):
    """Write one question that a user of these documents would ask and that this passage alone
    answers.

    Think of somebody who is doing or deciding something, knows which documents are searched and has
    not seen the passage. The question asks one thing, in the words that such a person has before
    the answer is known, not in those of the passage. It is what they look up, not what a quiz on
    the passage asks: no definition turned round, no reason of a passing remark, no missing word, no
    list or clause that is only turned into a question, no clauses set against each other that
    nobody weighs. Where one could ask what, when, how or how much, it does not ask for yes or no.
    What it is about is called by its full name; what title and headings make plain to such a
    person, such as the product that a manual is for, need not be named. Names may come from the
    topic or from what stands before, all else from the passage. The question does not speak of the
    passage and does not give its answer away. The answer is right and complete, well worded, and
    clear to somebody who does not see the passage; it is stated there, or counted or concluded from
    nothing but what it states. The evidence is copied from the passage word for word.

    The form comes first: take the first one on offer in which the passage answers something that
    somebody wants to know; one that could only become a riddle is passed over. Then, of what can be
    asked in that form, ask what is most worth knowing; of kinds that are worth as much, take the
    earlier one. If a subject is given, ask about that; if it is a question, ask for the same, as
    exactly, in other words. If nothing in the passage is worth a question that was not asked
    already, write "none" in every line but the answer, which says why.
    """

    about: str = dspy.InputField(desc="what the documents are and who asks", default="")
    topic: str = dspy.InputField(desc="title and headings above the passage", default="")
    before: str = dspy.InputField(desc="what stands just before the passage", default="")
    passage: str = dspy.InputField(desc="the passage to ask about")
    asked_already: list[str] = dspy.InputField(desc="questions not to repeat", default=[])
    subject: str = dspy.InputField(desc="what to ask about, if that is fixed", default="")
    forms: list[str] = dspy.InputField(desc="forms of question on offer, the most wanted first")
    kinds: str = dspy.InputField(
        desc="what a question can ask for, the most wanted first", default=""
    )
    answers: str = dspy.InputField(desc="how long the answer is")
    language: str = dspy.InputField(
        desc="the language to write in, if it is not that of the passage", default=""
    )
    form: str = dspy.OutputField(desc="the name of the form that you take")
    kind: str = dspy.OutputField(desc="the kind that you take")
    question: str = dspy.OutputField(desc="the question, in the language of the passage")
    answer: str = dspy.OutputField(desc="its answer")
    evidence: list[str] = dspy.OutputField(desc="the words of the passage that the answer rests on")


class EvolveQuestion(dspy.Signature):
    """Write a question in the given form, which this passage alone answers, from a plain one.

    Stay with what the plain question is about, and read what else the passage says of it. The new
    question asks for one thing, calls what it is about by its full name, says nothing of the
    passage and does not give its answer away. A person who needs this could ask it; it is no riddle
    and no string of clauses. Its answer is another one than that of the plain question, or one that
    takes more to find: right, short, and stated in the passage, or counted or concluded from
    nothing but what it states. The evidence is copied from the passage word for word. If the
    passage has nothing for this form, write "none" as the question, and why as the answer.
    """

    topic: str = dspy.InputField(desc="title and headings above the passage", default="")
    passage: str = dspy.InputField(desc="the passage that must answer the question")
    form: str = dspy.InputField(desc="the form of the new question")
    language: str = dspy.InputField(
        desc="the language to write in, if it is not that of the passage", default=""
    )
    plain_question: str = dspy.InputField(desc="the question to begin with")
    plain_answer: str = dspy.InputField(desc="its answer")
    question: str = dspy.OutputField(desc="the new question, in the language of the passage")
    answer: str = dspy.OutputField(desc="its answer")
    evidence: list[str] = dspy.OutputField(desc="the words of the passage that the answer rests on")


class CombinePassages(dspy.Signature):
    """Write one question that somebody would ask who works with these documents, and that needs all
    of the passages: each gives something that the others do not say, and without it the answer
    cannot be found.

    Begin with that person, who is doing or deciding something and has not seen the passages. What
    they need is told in parts: one passage tells of a thing, and another one what matters about it
    (bridge); like things have to be weighed against each other (comparison); or it only follows
    from all of the passages (general). The question asks one thing in plain words; things are
    called by their names, it is no riddle and no string of clauses. Things that happen to stand
    beside each other, years between two events, or two figures of which neither bears on the other
    are no such need. The question does not give its answer away and adds nothing that the passages
    do not say. The answer is right and complete, well worded, and clear to somebody who does not
    see the passages; it is stated there, or counted or concluded from nothing but what they state.
    The evidence is copied word for word, a piece of each passage. If one passage says it all, or
    nobody has a need that takes them together, write "none" in every line but the answer, which
    says why.
    """

    about: str = dspy.InputField(desc="what the documents are and who asks", default="")
    passages: str = dspy.InputField(
        desc="the passages, each under its number with title and headings"
    )
    asked_already: list[str] = dspy.InputField(desc="questions not to repeat", default=[])
    answers: str = dspy.InputField(desc="how long the answer is")
    language: str = dspy.InputField(
        desc="the language to write in, if it is not that of the passages", default=""
    )
    kind: str = dspy.OutputField(desc="bridge, comparison or general")
    question: str = dspy.OutputField(desc="the question, in the language of the passages")
    answer: str = dspy.OutputField(desc="its answer")
    evidence: list[str] = dspy.OutputField(desc="a piece of each passage, word for word")


class RewordQuestion(dspy.Signature):
    """Write what somebody typed who needed just this answer and had not seen the documents.

    The question was put by a reader, in the terms of the documents. Begin with the person instead:
    somebody does, decides or notices something, and this answer is what they need. Their situation
    says who they are, what they are about, and what they see, have or fear, in their own words: the
    names that are before their eyes, such as a product, a form, a place or an error, and everyday
    words for what the documents call by terms of their own. The message is put from that situation,
    as the wording says. It asks for the same one thing under the same conditions, so that whoever
    knows the documents can tell what is asked, and about what; it gives nothing of the answer away.
    If nobody would need this answer, write "none" as the message.
    """

    about: str = dspy.InputField(desc="what the documents are and who asks", default="")
    topic: str = dspy.InputField(desc="title and headings above what answers it", default="")
    question: str = dspy.InputField(desc="the question of a reader")
    answer: str = dspy.InputField(desc="its answer")
    wording: str = dspy.InputField(desc="how the message is put")
    examples: list[str] = dspy.InputField(
        desc="messages of such people about other things: write as they do", default=[]
    )
    situation: str = dspy.OutputField(desc="who needs this answer, and why, in at most 30 words")
    message: str = dspy.OutputField(desc="what they typed, in the language of the question")


class AskFact(dspy.Signature):
    """Write one question whose answer is exactly the given answer. The question names its subject
    in full, so that someone who has never seen the fact understands it, and does not contain the
    answer."""

    topic: str = dspy.InputField(desc="what the fact is about")
    fact: str = dspy.InputField(desc="one sentence of the passage")
    answer: str = dspy.InputField(desc="words of the fact that the question must lead to")
    opening: str = dspy.InputField(desc="how the question begins, if that is fixed", default="")
    question: str = dspy.OutputField(desc="the question, in the language of the fact")


class AnswerQuestion(dspy.Signature):
    """Answer the question with the few words of the passage that answer it. Write "not stated" if
    the passage does not say."""

    topic: str = dspy.InputField(desc="title and headings above the passage", default="")
    passage: str = dspy.InputField(desc="the passage to answer from")
    question: str = dspy.InputField(desc="the question")
    answer: str = dspy.OutputField(desc="a few words copied from the passage")


class ReviseQuestion(dspy.Signature):
    """Change the question as the change says, and nothing else about it.

    What the change does not concern stays: every name, number and condition, and what is asked for.
    The new question does not contain its answer and does not speak of a passage. Unless the change
    wants it otherwise, it can be understood alone. If the change cannot be made, write "none" as
    the new question.
    """

    topic: str = dspy.InputField(desc="title and headings above the passage", default="")
    before: str = dspy.InputField(desc="what stands just before the passage", default="")
    passage: str = dspy.InputField(
        desc="the passage that answers the question, if it is needed", default=""
    )
    question: str = dspy.InputField(desc="the question to change")
    answer: str = dspy.InputField(desc="its answer", default="")
    change: str = dspy.InputField(desc="what to change")
    new_question: str = dspy.OutputField(
        desc="the changed question, in the language of the question"
    )
    new_answer: str = dspy.OutputField(desc="its answer: the same, unless the change concerns it")
