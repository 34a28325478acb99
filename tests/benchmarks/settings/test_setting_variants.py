"""Each variant of the tuning benchmark changes one setting."""

from dataclasses import asdict

from benchmarks.settings.setting_variants import setting_variants
from benchmarks.spark.variants import recommended


def test_each_variant_changes_exactly_one_setting() -> None:
    """Each variant differs from the recommended settings in the setting that its name states."""
    base = recommended(15)
    cases = setting_variants(base)

    names = [(case.workload, case.engine) for case in cases]
    assert len(names) == len(set(names))
    settings = asdict(base)
    for case in cases:
        # More partitions may need more slots.
        changed = [name for name in settings if settings[name] != case.settings[name] and name != "slots"]
        assert len(changed) <= 1 or (
            case.engine.startswith("all of these") and set(changed) == {"confs", "warm_up_batches"}
        )
        is_changed = bool(changed or case.partitions or case.engine.startswith("slots"))
        assert is_changed == (case.engine != "recommended")
