import re
import socket
from pathlib import Path

import pytest

from tests.prove.judge import JOBS, Judge

pytestmark = [pytest.mark.spark, pytest.mark.services, pytest.mark.timeout(240)]


def test_batch_write_of_job_reaches_no_server_of_the_user(judge: Judge, tmp_path: Path) -> None:
    """Writes to Kafka use the local broker; other writes are named and skipped."""
    code = (JOBS / "batch_writes.py.txt").read_text().replace("FOLDER", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as production:
        production.settimeout(0)
        verdicts = judge(code.replace("PORT", str(production.getsockname()[1])), "flow")
        with pytest.raises(BlockingIOError):
            production.accept()

    assert "good" == next(verdict.status for verdict in verdicts if verdict.check == "flow")
    (skipped,) = [verdict.evidence for verdict in verdicts if "prove skipped these writes" in verdict.evidence]
    names = ["text", "jdbc", "table runs", "table runs", "SQL InsertInto"]
    assert names == re.findall(r"(?:: |, )([\w ]+) \(line \d+\)", skipped)
    assert not (tmp_path / "written").exists()


def test_sink_of_job_is_not_opened(judge: Judge, tmp_path: Path) -> None:
    """The engine accepts `foreach` with an empty function instead of the job's, which may open a connection."""
    verdicts = judge((JOBS / "foreach_store.py.txt").read_text().replace("FOLDER", str(tmp_path)), "mode")

    assert "real-time mode accepts the sink 'foreach'" in verdicts[0].evidence
    assert not (tmp_path / "opened").exists()
