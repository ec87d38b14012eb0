"""What each step asks: one ``dspy.Signature`` in each module, and nothing else."""

from signatures.agree import CompareAnswers
from signatures.answer import AnswerQuestion
from signatures.ask import AskPassage, WrittenQuestion
from signatures.chunk import ScoreChunk
from signatures.combine import CombinePassages
from signatures.compress import CompressQuestion
from signatures.conditional import ConditionQuestion
from signatures.describe import DescribeName
from signatures.evolve import EvolveQuestion
from signatures.feedback import DiagnoseQuestion
from signatures.grounding import GroundAnswer
from signatures.judge import JudgeQuestion
from signatures.keyphrases import ExtractKeyphrases
from signatures.multi_context import ComposeQuestion
from signatures.open_answer import AnswerInFull
from signatures.pair import AskPair
from signatures.question import AskQuestion
from signatures.reasoning import NameKind
from signatures.rewrite import RewriteQuestion
from signatures.same import CompareQuestions
from signatures.sound import WeighPair
from signatures.split import SplitQuestion

__all__ = [
    "AnswerInFull",
    "AnswerQuestion",
    "AskPair",
    "AskPassage",
    "AskQuestion",
    "CombinePassages",
    "CompareAnswers",
    "CompareQuestions",
    "ComposeQuestion",
    "CompressQuestion",
    "ConditionQuestion",
    "DescribeName",
    "DiagnoseQuestion",
    "EvolveQuestion",
    "ExtractKeyphrases",
    "GroundAnswer",
    "JudgeQuestion",
    "NameKind",
    "RewriteQuestion",
    "ScoreChunk",
    "SplitQuestion",
    "WeighPair",
    "WrittenQuestion",
]
