import pytest

from examples.attribution.demo.run import MIN_SETTLED_POLLS, poll_until_settled


def polls(outstanding: list[int], idle_seconds: float) -> int:
    """Return how often a run is polled if this amount of work is outstanding after each poll of one second."""
    done = iter(outstanding)
    left = [next(done)]

    def poll() -> None:
        left.append(next(done, left[-1]))

    poll_until_settled(poll, lambda: left[-1] == 0, lambda: left[-1], idle_seconds, now=lambda: float(len(left)))
    return len(left) - 1


def test_run_with_progress_is_drained_to_its_end() -> None:
    """A slow run may take longer than the limit, which applies only to the time without progress."""
    slow = [9, 9, 8, 8, 5, 5, 3, 3, 1, 1, 0]

    assert len(slow) - 2 + MIN_SETTLED_POLLS == polls(slow, idle_seconds=3)


@pytest.mark.parametrize("standing", [[4, 3], [4, 3, 5, 4, 3, 4, 5, 4, 3, 4, 5]], ids=["unchanged", "up and down"])
def test_run_without_progress_ends_after_the_limit(standing: list[int]) -> None:
    assert 1 + 4 == polls(standing, idle_seconds=4)
