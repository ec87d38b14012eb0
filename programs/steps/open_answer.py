"""Step ``open_answer``: answers a question from its passage in whole sentences, or says that it is not stated."""

from programs.steps.base import Step
from signatures.open_answer import AnswerInFull

STEP = Step("open_answer", AnswerInFull, limits={"max_tokens": 160, "stop": ["\n\n"], "temperature": 0.0})
