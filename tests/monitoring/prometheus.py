import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from scripts.pack import files
from spark_rtm.services.child import free_ports
from tests import helpers
from tests.helpers import eventually

FOLDER = files.ROOT / "spark_rtm" / "monitoring"
RULES = FOLDER / "alerts.yml"
OFTEN = "200ms"


def program(name: str) -> str:
    """Return the path of `prometheus` or `promtool`."""
    return helpers.program([name], "it did not check the alert rules", "prometheus")


class Prometheus:
    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}/api/v1/"

    def active(self) -> set[str]:
        """Return the alerts that fire."""
        alerts = self._data("alerts")["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def is_scraping(self) -> bool:
        try:
            targets = self._data("targets")["activeTargets"]
        except urllib.error.URLError:
            return False
        return ["up"] == [target["health"] for target in targets]

    def _data(self, name: str) -> Any:
        with urllib.request.urlopen(self._address + name, timeout=10) as response:
            return json.load(response)["data"]


@contextmanager
def prometheus(exporter_port: int, folder: Path) -> Iterator[Prometheus]:
    [port] = free_ports(1)
    config = {
        "global": {"scrape_interval": OFTEN, "scrape_timeout": OFTEN, "evaluation_interval": OFTEN},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "rtm", "static_configs": [{"targets": [f"127.0.0.1:{exporter_port}"]}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    command = [program("prometheus"), f"--config.file={folder / 'prometheus.yml'}"]
    command += [f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
    with subprocess.Popen(command, cwd=folder) as process:
        server = Prometheus(port)
        try:
            eventually(server.is_scraping, 60, "the first scrape of Prometheus")
            yield server
        finally:
            process.kill()
