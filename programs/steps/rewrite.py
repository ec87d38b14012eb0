"""Step ``rewrite``: rewrites a refused question with feedback."""

from programs.steps.base import Step
from programs.steps.question import LIMITS
from signatures.rewrite import RewriteQuestion

REWRITE_ROUNDS = 1
MIN_PROBABILITY = 0.3  # of a question to rewrite: a rewrite costs two calls, and few succeed

STEP = Step("rewrite", RewriteQuestion, limits=LIMITS)
