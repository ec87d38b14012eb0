"""The path for tests of the optimizers."""

import sys
from pathlib import Path

# For the scripted programs of tests/programs.
sys.path.insert(0, str(Path(__file__).parents[1] / "programs"))
