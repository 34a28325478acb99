"""Run both versions of a job on the same input, and return the verdict on their results."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from spark_rtm.prove.against.compare import (
    Comparison,
    Difference,
    Facts,
    NotComparableError,
    Row,
    comparison_of,
    differences,
    named,
)
from spark_rtm.prove.against.pair import NEW, OLD, Outcome, Pair, Results
from spark_rtm.prove.against.schedule import (
    DUPLICATE,
    HOSTILE,
    LATE,
    Batch,
    Input,
    batches_of,
    inputs_of,
    smallest,
)
from spark_rtm.prove.against.version import Listed, VersionError
from spark_rtm.prove.verdicts import GOOD, RESULTS, UNCHECKED, WRONG, Verdict, failure_of
from spark_rtm.testing.records import Sent

PAGE = "references/migrate.md#compare"
RESTARTS = "references/restarts.md#what-ends-a-query"
MAX_SHOWN, MAX_SAMPLES = 3, 10_000


@dataclass(frozen=True)
class Options:
    """Options for the comparison."""

    samples: Mapping[str, list[Sent]] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    query: str = ""
    partitions: int = 2
    seed: int = 1
    schedules: int = 3
    shrink_seconds: float = 60.0


def compare(pair: Pair, options: Options, say: Callable[[str], None]) -> Iterator[Verdict]:
    """Yield the verdict on each query of the new version that runs in real-time mode."""
    say("running both jobs to capture their queries")
    old, new = pair.both("record")
    for number, other in paired(old, new, pair.paths, options.query):
        line, label = new[number].line, f"query {new[number].name or new[number].line}: "
        facts = pair.choose((other, number), options.samples)
        try:
            verdict = _Run(pair, options, say, label, facts).verdict()
        except NotComparableError as error:
            verdict = Verdict(RESULTS, UNCHECKED, f"not comparable: {error}", page=PAGE)
        except VersionError as error:
            failure = failure_of(error, pair.paths[NEW], line)
            evidence = f"not comparable: a version does not run: {failure.condition}: {failure.message}"
            verdict = Verdict(RESULTS, UNCHECKED, evidence, failure.fix, failure.page)
        place = {"path": str(pair.paths[NEW]), "line": line} if verdict.status != GOOD else {}
        yield replace(verdict, evidence=(label if len(new) > 1 else "") + verdict.evidence, **place)


def paired(
    old: Sequence[Listed], new: Sequence[Listed], paths: tuple[Path, Path], query: str = ""
) -> list[tuple[int, int]]:
    """Return pairs of numbers: a real-time query, and its old version. Raise ValueError if one is missing."""
    wanted = [n for n, one in enumerate(new) if not query or query in {one.name, str(one.line)}]
    found = [n for n in wanted if new[n].is_real_time]
    if not wanted:
        known = ", ".join(f"{one.line} {one.name}".strip() for one in new) or "none"
        raise ValueError(f"{paths[NEW]} has no query {query!r}; pass the line or name of one of its queries: {known}")
    if not found:
        one = new[wanted[0]]
        raise ValueError(
            f"{paths[NEW]}:{one.line}: the trigger is {one.trigger or 'default'!r}, so the new version is not in "
            'real-time mode; write .trigger(realTime="5 minutes")'
        )
    pairs = [(n, _old_of(old, new[n], len(found), paths)) for n in found]
    if other := next((old[n] for _, n in pairs if old[n].is_real_time), None):
        raise ValueError(
            f"{paths[OLD]}:{other.line}: the query already runs in real-time mode; pass the micro-batch version of the "
            "job to --against"
        )
    return pairs


def _old_of(old: Sequence[Listed], one: Listed, wanted: int, paths: tuple[Path, Path]) -> int:
    """Return the number of a query's old version: the one with the same name or target topic, or else the only one."""
    by_name = [n for n, other in enumerate(old) if one.name and other.name == one.name]
    by_target = [n for n, other in enumerate(old) if one.target and other.target == one.target]
    for candidates in (by_name, by_target, range(len(old)) if wanted == 1 else ()):
        if len(candidates) == 1:
            return candidates[0]
    raise ValueError(
        f"{paths[OLD]} has no query that corresponds to the query on line {one.line} of {paths[NEW]}; set the same "
        "queryName for both queries"
    )


@dataclass
class _Run:
    """The comparison of one query's old and new versions."""

    pair: Pair
    options: Options
    tell: Callable[[str], None]
    label: str
    facts: tuple[Facts, Facts]

    def verdict(self) -> Verdict:
        how = comparison_of(*self.facts, self.options.key)
        self._say("generating records")
        good, hostile, ended = self._records()
        if isinstance(ended, Verdict):
            return ended
        counts, compared, kill = Counter[str](), 0, ""
        for seed in range(self.options.seed, self.options.seed + self.options.schedules):
            inputs = inputs_of(good, hostile, self._both("delays"), self._both("windows"), seed, self.options.samples)
            batches = batches_of(inputs, self.options.partitions, seed)
            self._say(f"schedule {seed}: {len(inputs)} records in {len(batches)} batches")
            found = self.pair.run(batches, len(batches) // 2 - 1)
            if odd := self._different(how, found):
                return self._shrunk(how, batches, odd)
            if any(found.errors):
                raise VersionError(found.errors[OLD])
            compared += how.count(found.results[OLD])
            counts.update(one.kind for one in inputs)
        if compared and self.pair.again:
            self._say("killing both versions before they commit a batch, and starting them again")
            kill, other = self._killed(how, found, self.pair.kill(batches))
            if other:
                return other
        if not compared:
            fix = f"pass records that both versions accept: --samples {self.facts[NEW].topics[0]}=FILE.jsonl"
            raise NotComparableError(f"no record produces a result; {fix}")
        evidence = (
            f"same: both versions write {how.what(compared)} in {self.options.schedules} schedules from seed "
            f"{self.options.seed}, each with a restart at a batch boundary; "
            f"records: {', '.join(f'{n} {k}' for k, n in counts.items())}"
        )
        masked = [f"{named(name)} is not compared, because it depends on {what}" for name, what in how.masked.items()]
        both = [f"{ended} other records make both versions fail"] if ended else []
        return Verdict(RESULTS, GOOD, "; ".join(filter(None, [evidence, *both, kill, *masked])), page=PAGE)

    def _say(self, step: str) -> None:
        self.tell(self.label + step)

    def _both(self, name: str) -> list[float]:
        return sorted({number for one in self.facts for number in getattr(one, name)})

    def _records(self) -> tuple[dict[str, list[Sent]], dict[str, list[Sent]], Verdict | int]:
        """Return good and hostile records, and how many others end both queries, or a verdict if one ends only one."""
        good, hostile, ended = dict[str, list[Sent]](), dict[str, list[Sent]](), 0
        for topic in self.facts[NEW].topics:
            made = self.pair.both("records", self.options.samples.get(topic, []))
            parts = [list(dict.fromkeys(one for part in made for one in part[kind])) for kind in (0, 1)]
            together = [*parts[0], *parts[1]]
            failing = self.pair.both("ending", together)
            for position in sorted({*failing[OLD]} ^ {*failing[NEW]})[:1]:
                errors = tuple(one.get(position, "") for one in failing)
                return good, hostile, self._ended(errors, [Input(topic, together[position], 0, HOSTILE)])
            kept = [n for n in range(len(together)) if n not in failing[OLD]]
            ended += len(failing[OLD])
            good[topic] = [together[n] for n in kept if n < len(parts[0])]
            hostile[topic] = [together[n] for n in kept if n >= len(parts[0])]
        return {topic: records for topic, records in good.items() if records}, hostile, ended

    def _killed(self, how: Comparison, found: Outcome, again: Results) -> tuple[str, Verdict | None]:
        """Return a sentence about the rows that a kill repeats, or the verdict if the kill changes results."""
        for name, before, after in zip(("old", "new"), found.results, again, strict=True):
            # Without a key, a row that is written again counts once.
            once = [list(r if how.is_keyed else {how.row_of(one): one for one in r}.values()) for r in (before, after)]
            if odd := differences(how, once[OLD], once[NEW]):
                details = {"before": [_shown(row) for row in odd[0].old], "after": [_shown(row) for row in odd[0].new]}
                evidence = f"differs: {len(odd)} results of the {name} version are different after a kill"
                fix = "derive every result from its source record alone: no clock, no random values"
                return "", Verdict(RESULTS, WRONG, evidence, fix, RESTARTS, details=details)
        old, new = (max(0, len(after) - len(before)) for before, after in zip(found.results, again, strict=True))
        repeated = f"the old version writes {old} rows again, and the new version {new}"
        return f"after a kill during a batch, {repeated}; no row is lost", None

    def _different(self, how: Comparison, found: Outcome) -> list[Difference] | tuple[str, ...]:
        """Return the differences, or the errors of both versions if only one of them has failed."""
        if any(found.errors):
            return () if all(found.errors) else found.errors
        still_open = set[Row]()
        if how.is_keyed and self.facts[OLD].output_mode == "append":
            still_open = {how.key_of(how.row_of(one)) for one in found.opened}
        return differences(how, *found.results, still_open)

    def _shrunk(self, how: Comparison, batches: Sequence[Batch], odd: Any) -> Verdict:
        """Return the verdict with the smallest input that shows a difference."""
        last, end = odd, time.monotonic() + self.options.shrink_seconds
        # In append mode, the last records close the windows of all other records.
        closing = [b for b in batches if b.is_last and self.facts[OLD].output_mode == "append"]

        def differs(candidate: Sequence[Batch]) -> bool:
            nonlocal last
            found = self._different(how, self.pair.run([*candidate, *closing]))
            last = found or last
            return bool(found)

        def note(size: int) -> None:
            self._say(f"the results differ; looking for the smallest input that shows this: {size} records")

        inputs = smallest([b for b in batches if b not in closing], differs, lambda: time.monotonic() > end, note)
        if isinstance(last, tuple):
            return self._ended(last, inputs)
        details: dict[str, list[Any]] = {"input": [one.shown for one in inputs]}
        for name in ("old", "new"):
            details[name] = [_shown(row) for one in last[:MAX_SHOWN] for row in getattr(one, name)]
        what = "keys have different last rows" if how.is_keyed else "rows do not occur equally often"
        evidence = f"differs: {_reason(last[0], inputs, *self.facts)}; {len(last)} {what}"
        fix = "correct the new version, or accept the difference"
        return Verdict(RESULTS, WRONG, evidence, fix, PAGE, details=details)

    def _ended(self, errors: Sequence[str], inputs: Sequence[Input]) -> Verdict:
        """Return the verdict on records that make the query fail in only one version."""
        which = NEW if errors[NEW] else OLD
        failure = failure_of(VersionError(errors[which]), self.pair.paths[which], 0)
        name = ("old", "new")[which]
        details: dict[str, list[Any]] = {"input": [one.shown for one in inputs], name: [f"ended: {failure.message}"]}
        evidence = f"differs: ended query: only the {name} version fails, with {failure.condition}"
        if self.facts[OLD].is_ansi != self.facts[NEW].is_ansi:
            evidence += "; Spark version: only one version runs with spark.sql.ansi.enabled"
        return Verdict(RESULTS, WRONG, evidence, failure.fix, failure.page, details=details)


def _reason(found: Difference, inputs: Sequence[Input], old: Facts, new: Facts) -> str:
    """Return the probable reason for a difference, derived from the smallest input that shows the difference."""
    kinds = {one.kind for one in inputs}
    if found.new and not found.old and (new.partial or old.partial):
        return f"partial result: the filter {new.partial or old.partial} passes a result that later records change"
    if LATE in kinds and (old.delays or new.delays):
        return "late row: the versions treat a record behind the watermark differently"
    if old.is_ansi != new.is_ansi:
        return "Spark version: only one version runs with spark.sql.ansi.enabled"
    if DUPLICATE in kinds and not (old.is_keyed or new.is_keyed):
        return "duplicate: the versions treat a repeated record differently"
    if HOSTILE in kinds:
        return "broken record: the versions treat a malformed record differently"
    return "other results: the versions compute different results from the same records"


def _shown(row: Row) -> dict[str, str]:
    """Return a row with the names of its parts, as a message shows them."""
    return {named(name): text for name, text in row}
