"""The step ``rewrite``: rewrites a refused question with the feedback on it."""

from programs.steps.base import Step
from programs.steps.question import LIMITS
from signatures.rewrite import RewriteQuestion

REWRITE_ROUNDS = 1
WORTH_REWRITING = 0.3  # least probability of a question that is worth a rewrite: two calls, and few succeed

STEP = Step("rewrite", RewriteQuestion, limits=LIMITS)
