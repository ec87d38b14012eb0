"""Training weights of the smallest real model: few rows and layers, a high rate."""

import copy

import dspy
import pytest

from groundset.models.llama import LlamaModel
from groundset.optimizers import finetune as module
from groundset.optimizers.finetune import Training, finetune, turns_of
from groundset.programs.step import step

OPTIONS = Training(epochs=4, batch=2, rate=1.5e-2, rank=4, alpha=8, layers=0.2)


@pytest.fixture(scope="module")
def rows() -> list[dspy.Example]:
    colours = {"mill": "red", "weir": "grey"}
    asked = [
        {
            "passage": f"The {thing} is {colour}.",
            "question": f"What is the {thing}?",
            "answer": f"oh so {colour}",
        }
        for thing, colour in colours.items()
    ]
    return [dspy.Example(**values).with_inputs("passage", "question") for values in asked]


def test_rows_become_the_chats_of_a_run(rows):
    answer = step("answer")
    (turn, *_) = turns_of(answer, rows)
    system, user = turn.messages
    assert system["role"] == "system"
    assert user["content"] == "Passage: The mill is red.\nQuestion: What is the mill?"
    assert turn.completion == "oh so red"
    (served, *_) = turns_of(answer, rows, demos=True)
    assert len(served.messages) == 2 + 2 * len(answer.demos)
    sound = dspy.Example(topic="Mill", fact="It is red.", question="?", answer="red", sound=False)
    sound = sound.with_inputs("topic", "fact", "question", "answer")
    assert turns_of(step("sound"), [sound])[0].completion == "no"


@pytest.mark.model
@pytest.mark.timeout(600)
def test_an_interrupted_training_goes_on_and_llama_cpp_takes_its_weights(
    smollm2, rows, tmp_path, monkeypatch
):
    loaded = module._load(smollm2, OPTIONS)  # once: it takes longer than the training
    monkeypatch.setattr(module, "_load", lambda *_: copy.deepcopy(loaded))
    losses = []

    def interrupting(number, steps, loss):
        losses.append(loss)
        assert steps == 4
        if number == 2 and len(losses) == 2:
            raise KeyboardInterrupt

    training = smollm2, step("answer"), rows, rows[:1], tmp_path, OPTIONS, interrupting
    with pytest.raises(KeyboardInterrupt):
        finetune(*training)
    trained = finetune(*training)
    assert len(losses) == 4, "no step was made twice"
    assert losses[-1] < losses[0] / 2
    assert min(trained.after) > max(trained.before)
    model = LlamaModel(smollm2, workers=1, adapters={"answer": trained.file}, verbose=False)
    try:
        answer = step("answer", max_tokens=8)
        answer.demos = []
        assert trained.predictor.config["adapter"] == "answer"
        lm = dspy.LM("local/x", engine=model, cache=False)
        with dspy.context(lm=lm):
            asked = {"passage": rows[0].passage, "question": rows[0].question}
            assert "oh so" not in answer(**asked).answer
            answer.config = {**answer.config, "adapter": "answer"}
            assert answer(**asked).answer.startswith("oh so")
    finally:
        model.close()
