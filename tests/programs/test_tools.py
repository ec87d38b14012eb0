"""What a recipe is handed: predictors as they were compiled, demos that fit, models by role, critics by step."""

import dspy
import pytest
from scripted_program import FixedRetriever, ScriptedCritic, ScriptedEngine, languages_with, nothing_is_bad, tools_of

from groundset.runtime.adapter import PlainTextAdapter
from programs.steps import STEPS
from programs.tools import CRITIC, GENERATOR, Tools

DEMOS = [
    dspy.Example(topic="Brücken", fact="Sie wurde 1931 gebaut.", answer="1931", opening="", question="Wann?"),
    dspy.Example(topic="Bridges", fact="It was built in 1931.", answer="1931", opening="", question="When?"),
]
DEMOS = [demo.copy(language=language) for demo, language in zip(DEMOS, ("de", "en"), strict=True)]
ASKED = {"topic": "Locks", "fact": "It was built in 1951.", "answer": "1951", "opening": ""}


def shown(engine):
    """Return the demos of the last request by their answers."""
    texts = [message.text for message in engine.requests[-1].messages if message.role == "assistant"]
    return [text.strip() for text in texts]


def write(tools, language="en", lm=None):
    with dspy.context(lm=lm, adapter=PlainTextAdapter()):
        return tools.write("question", tools.predictor("question"), language, **ASKED).question


@pytest.mark.parametrize("step", STEPS)
def test_predictor_is_new_and_has_the_limits_of_its_step(step):
    tools = Tools(critics={}, retriever=FixedRetriever(), languages=languages_with(None))
    predict = tools.predictor(step)
    assert predict is not tools.predictor(step)
    assert predict.demos == []
    assert predict.config == dict(STEPS[step].limits)


def test_compiled_state_replaces_demos():
    compiled = STEPS["question"].predictor(DEMOS[:1]).dump_state()
    compiled["signature"]["instructions"] = "Write one question as you were taught."
    tools = Tools(
        critics={},
        retriever=FixedRetriever(),
        languages=languages_with(None),
        demos={"question": DEMOS},
        states={"question": compiled},
    )
    predict = tools.predictor("question")
    assert predict.signature.instructions == "Write one question as you were taught."
    assert [demo["question"] for demo in predict.demos] == ["Wann?"]
    assert tools.predictor("rewrite").demos == []


@pytest.mark.parametrize(("language", "expected"), [("en", ["When?"]), ("de", ["Wann?"]), ("fr", ["When?"])])
def test_demos_have_the_language_of_the_text(language, expected):
    engine = ScriptedEngine({"question": "In which year?"})
    assert write(tools_of(demos={"question": DEMOS}), language, engine.lm) == "In which year?"
    assert shown(engine) == expected


def test_select_gets_demos_of_the_language_and_inputs():
    seen = []

    def choose(demos, inputs):
        seen.append(([demo["question"] for demo in demos], inputs))
        return []

    engine = ScriptedEngine({"question": "In which year?"})
    write(tools_of(demos={"question": DEMOS}, selects={"question": choose}), "de", engine.lm)
    assert seen == [(["Wann?"], ASKED)]
    assert shown(engine) == []


def test_model_of_the_role_overrides_the_context():
    of_role, of_context = ScriptedEngine({"question": "Mine?"}), ScriptedEngine({"question": "Yours?"})
    tools = tools_of()
    assert write(tools, lm=of_context.lm) == "Yours?"
    assert write(tools.with_models({CRITIC: of_role.lm}), lm=of_context.lm) == "Yours?"
    assert write(tools.with_models({GENERATOR: of_role.lm}), lm=of_context.lm) == "Mine?"
    assert tools.models == {}


def test_each_step_uses_its_critic():
    good, bad = ScriptedCritic(nothing_is_bad), ScriptedCritic(lambda name, inputs: True)
    tools = tools_of(critics={"judge": good, "grounding": bad})
    asked = {"passage": "It was built in 1931.", "question": "When?"}
    assert tools.decide("judge", tools.predictor("judge"), **asked).good
    assert not tools.decide("grounding", tools.predictor("grounding"), **asked, answer="1931").good
    assert (len(good.asked), len(bad.asked)) == (1, 1)
    with pytest.raises(KeyError, match="same"):
        tools.decide("same", tools.predictor("same"), first="When?", second="Why?")
