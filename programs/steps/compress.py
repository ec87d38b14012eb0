"""Step ``compress``: shortens an evolved question."""

from programs.steps.base import Step
from programs.steps.question import LIMITS
from signatures.compress import CompressQuestion

SHORT_WORDS = 18  # questions up to this length are not shortened

STEP = Step("compress", CompressQuestion, limits=LIMITS)
