import pytest

from examples.attribution.audit.run_log_reader import RunLogReader
from examples.attribution.settings import Settings
from examples.attribution.topics import ATTRIBUTED_TOPIC, EVENTS_TOPIC, REJECTED_TOPIC, SOURCE_TOPICS, TOPICS
from tests.helpers import eventually, produce

pytestmark = pytest.mark.services


def test_foreign_records_are_listed_and_do_not_end_the_audit(kafka: str, settings: Settings) -> None:
    """A record that the pipeline cannot have written counts as unreadable; a source record can have any value."""
    foreign = {SOURCE_TOPICS[0]: b"\xff", EVENTS_TOPIC: b"[]", ATTRIBUTED_TOPIC: b"{}", REJECTED_TOPIC: b"no headers"}
    for name, value in foreign.items():
        produce(kafka, settings.topic(name), [(0, value)])
    reader = RunLogReader(kafka, settings, dict.fromkeys(TOPICS, settings.partitions))

    def is_read() -> bool:
        reader.poll(0.5)
        return len(reader.log.unreadable) == 3

    try:
        eventually(is_read, 60, "the three unreadable records")
    finally:
        reader.close()
    expected = {f"{settings.topic(name)}:0:{0:012d}" for name in (ATTRIBUTED_TOPIC, EVENTS_TOPIC, REJECTED_TOPIC)}
    assert expected == set(reader.log.unreadable)
    assert [f"{settings.topic(SOURCE_TOPICS[0])}:0:{0:012d}"] == list(reader.log.sources)
