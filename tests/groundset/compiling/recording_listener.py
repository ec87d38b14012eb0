"""A recording listener for tests of compiles."""


class RecordingListener:
    """Records the events of a compile."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.expected = self.calls = 0

    def start(self, step: str, calls: int, unit: str = "calls") -> None:
        self.expected = calls
        self.messages.append(f"{step}: {calls} {unit}")

    def call(self) -> None:
        self.calls += 1

    def say(self, message: str) -> None:
        self.messages.append(message)
