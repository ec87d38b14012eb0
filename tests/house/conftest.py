import sys
from pathlib import Path

# The toys are modules in this folder; scripted models are in the tests of programs and runs.
TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(Path(__file__).parent), str(TESTS / "programs"), str(TESTS / "groundset" / "engine")]
