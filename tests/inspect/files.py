"""Write small checkpoints in the format of OSS 4.3.0, and inspect them."""

import json
import os
from pathlib import Path

import pytest

from scripts import skills

STARTED_MS = 1_795_500_000_000
INTERVAL_MS = 5_000
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CONFS = {"spark.sql.streaming.stateStore.providerClass": ROCKSDB, "spark.sql.shuffle.partitions": "2"}


def write_checkpoint(folder: Path, batches: int = 3, *, planned: int = 0, version: int = 2) -> Path:
    """Write the checkpoint of a stateless query on one Kafka topic, with committed batches followed by planned ones."""
    write(folder / "metadata", '{"id":"11c08827-69b0-4cbd-a4fa-f9c502812785"}', STARTED_MS)
    write(folder / "sources/0/0", "\0v1\n" + json.dumps({"clicks": {"0": 0}}), STARTED_MS)
    for batch in range(batches + planned):
        plan(folder, batch, [json.dumps({"clicks": {"0": 10 * (batch + 1)}})])
        if batch < batches:
            commit(folder, batch, version)
    return folder


def plan(folder: Path, batch: int, sources: list[str], *, delay_ms: int = 20) -> None:
    """Write an entry of the offset log, `delay_ms` after the start of its batch."""
    started = STARTED_MS + batch * INTERVAL_MS
    metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": started, "conf": CONFS})
    write(folder / f"offsets/{batch}", "\n".join(["v1", metadata, *sources]), started + delay_ms)


def commit(folder: Path, batch: int, version: int = 2, ids: object = None) -> None:
    """Write an entry of the commit log, 3 s after the start of its batch; `ids` are the ids of its state files."""
    state = {} if version < 2 else {"stateUniqueIds": ids or {}}
    entry = json.dumps({"nextBatchWatermarkMs": 0, **state})
    write(folder / f"commits/{batch}", f"v{version}\n{entry}", STARTED_MS + batch * INTERVAL_MS + 3000)


def write_state(folder: Path, name: str, files: list[str], partitions: int = 2) -> None:
    stores = [{"storeName": "default", "numColsPrefixKey": 0, "numPartitions": partitions}]
    content = {"operatorInfo": {"operatorId": 0, "operatorName": name}, "stateStoreInfo": stores}
    write(folder / "state/0/_metadata/metadata", "v1\n" + json.dumps(content), STARTED_MS)
    for file in files:
        write(folder / "state/0" / file, "x" * 100, STARTED_MS)


def write(path: Path, text: str, moment_ms: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (moment_ms / 1000, moment_ms / 1000))


def add_state(checkpoint: Path) -> None:
    write_state(checkpoint, "stateStoreSave", ["0/3_a.zip", "1/2_c.zip", "1/3_b.changelog"])
    commit(checkpoint, 2, 2, {"0": [["a"], ["b"]]})


def run_inspect(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    status = skills.main(["inspect", *map(str, arguments)])
    output = capsys.readouterr()
    return status, output.out, output.err
