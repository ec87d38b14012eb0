import sys
from pathlib import Path

import pytest

from groundset.tracking.compiles import CompileStore

# With --import-mode=importlib a test cannot import the module beside it otherwise.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def store(tmp_path: Path) -> CompileStore:
    return CompileStore(f"sqlite:///{tmp_path / 'mlflow.db'}", tmp_path / "artifacts")
