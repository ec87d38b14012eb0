import sys
from pathlib import Path

# The toys are plain modules beside this file; what scripts models lies with the tests of programs and of runs.
TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(Path(__file__).parent), str(TESTS / "programs"), str(TESTS / "groundset" / "engine")]
