"""What each step asks: one ``dspy.Signature`` in each module, and nothing else."""

from signatures.answer import AnswerQuestion
from signatures.chunk import ScoreChunk
from signatures.compress import CompressQuestion
from signatures.conditional import ConditionQuestion
from signatures.describe import DescribeName
from signatures.feedback import DiagnoseQuestion
from signatures.grounding import GroundAnswer
from signatures.judge import JudgeQuestion
from signatures.keyphrases import ExtractKeyphrases
from signatures.multi_context import ComposeQuestion
from signatures.pair import AskPair
from signatures.question import AskQuestion
from signatures.reasoning import NameKind
from signatures.rewrite import RewriteQuestion
from signatures.same import CompareQuestions
from signatures.sound import WeighPair
from signatures.split import SplitQuestion

__all__ = [
    "AnswerQuestion",
    "AskPair",
    "AskQuestion",
    "CompareQuestions",
    "ComposeQuestion",
    "CompressQuestion",
    "ConditionQuestion",
    "DescribeName",
    "DiagnoseQuestion",
    "ExtractKeyphrases",
    "GroundAnswer",
    "JudgeQuestion",
    "NameKind",
    "RewriteQuestion",
    "ScoreChunk",
    "SplitQuestion",
    "WeighPair",
]
