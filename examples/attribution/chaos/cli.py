"""The command line of the demonstration under faults."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from examples.attribution.chaos.faults import KINDS
from examples.attribution.settings import DemoSettings, Settings
from spark_rtm.command_line import arguments_of

PROGRAM = "python -m examples.attribution.chaos"
SECONDS_PER_FAULT = 30
"""Planned seconds per fault, including the recovery and the pause after it."""


@dataclass(frozen=True)
class ChaosOptions(DemoSettings):
    """The pipeline's settings and the options specific to runs under faults."""

    duration: float = 300
    """Planned seconds of the run, with a fault every 30 s. The run ends after the last recovery."""
    rate: float = 60
    """Records per second, summed over all source topics."""
    warm_up_seconds: float = 10
    """Seconds of traffic at an increasing rate."""
    interval_seconds: int = 10
    """Seconds between two commits in real-time mode. A restart repeats at most the output of one interval."""
    watermark_slack_ms: int = 600_000
    """Maximum time (ms) that one partition may be read ahead of another before rows count as late (not time-scaled)."""
    drain_seconds: float = 180
    """Number of seconds without progress after which the run no longer waits for the last results."""
    seed: int = 1
    """Seed of the traffic and of the plan of faults. The same seed and options always produce the same plan."""
    count: int = 0
    """Number of faults; 0 means one for every 30 s of the duration."""
    faults: str = ""
    """Kinds of faults, separated by commas, for example kill-broker,pause-database. The default is all kinds."""
    cluster: bool = False
    """Start a standalone Spark cluster with two workers. Faults also affect the workers and their executors."""
    standby: bool = False
    """Start a second driver, which takes over when the first driver ends."""
    deadline_seconds: float = 300
    """Seconds after the end of a fault within which results must flow again. If not, the run ends with status 1."""
    publish: bool = False
    """Add the run to references/measured/chaos.json, replacing any run with the same command."""

    def __post_init__(self) -> None:
        """Raise ValueError if a setting is invalid, or if a chosen kind of fault is unknown or needs another option."""
        super().__post_init__()
        wrong = sorted(set(self.chosen) - KINDS.keys())
        if wrong:
            raise ValueError(f"faults contains {', '.join(map(repr, wrong))}; use some of {', '.join(sorted(KINDS))}")
        for option in ("cluster", "standby"):
            missing = [] if getattr(self, option) else sorted(n for n in self.chosen if KINDS[n].needs == option)
            if missing:
                raise ValueError(f"faults contains {', '.join(map(repr, missing))}, which need --{option}")
        if self.cluster and self.standby:
            raise ValueError("a standby needs its own task slots, which the cluster lacks; omit --cluster")
        if self.count < 0 or self.duration <= 0:
            raise ValueError(f"count is {self.count} and duration is {self.duration:g}; use positive numbers")

    @property
    def chosen(self) -> list[str]:
        """Return the kinds of fault that the user chose."""
        return [name for name in self.faults.replace(" ", "").split(",") if name]

    @property
    def planned(self) -> int:
        """Return the number of planned faults."""
        return self.count or max(round(self.duration / SECONDS_PER_FAULT), 1)

    def settings(self) -> Settings:
        """Return the pipeline's settings for the driver and the follower."""
        names = {field.name for field in fields(Settings)}
        return Settings(**{name: value for name, value in asdict(self).items() if name in names})


def parse(arguments: Sequence[str] | None) -> ChaosOptions:
    """Parse the command line into options. An invalid option ends the program with status 2."""
    kinds = "\n".join(f"  {name:21} {kind.what}" for name, kind in KINDS.items())
    return arguments_of(
        ChaosOptions,
        arguments,
        program=PROGRAM,
        description="Run the pipeline under random faults, and check that no result is lost or wrong.\n\n"
        "The pipeline has recovered when every source partition has a result in the database for a record that was "
        f"sent after the fault and after the last restart that the fault caused.\n\nfaults:\n{kinds}",
        example=f"{PROGRAM} --seed 3 --count 5 --faults kill-broker,pause-database",
        fixed={"trigger": "real-time", "master": "", "topic_prefix": "", "checkpoint_dir": ""},
    )
