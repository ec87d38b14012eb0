"""What tests of the optimizers are handed."""

import sys
from pathlib import Path

# The scripted parts of programs, which whole recipes are compiled with.
sys.path.insert(0, str(Path(__file__).parents[1] / "programs"))
