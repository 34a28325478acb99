from dataclasses import dataclass
from pathlib import Path

from scripts.pack import files

ORIGINAL = files.ROOT / "examples/alerts/payments_to_flagged.py"
FUNCTION = "payments_to_flagged"


@dataclass(frozen=True)
class Fault:
    right: str
    wrong: str
    check: str
    condition: str
    """Part of the evidence."""
    fix: str
    """Part of the fix."""
    line_of: str = ""
    """Text of the expected line; empty if the verdict names the function."""


FAULTS = {
    "ANSI cast": Fault(
        "decode(payments, PAYMENTS,",
        "decode(payments.withColumn('value', F.when(\n"
        "        F.get_json_object(F.col('value').cast('string'), '$.amount_cents').cast('long') < 0, F.lit(b'')\n"
        "    ).otherwise(F.col('value'))), PAYMENTS,",
        "input",
        "CAST_INVALID_INPUT",
        "try_cast",
        ".cast('long')",
    ),
    "Python UDF": Fault(
        'key=F.col("record.card")',
        'key=F.udf(str.upper)(F.col("record.card"))',
        "mode",
        "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST",
        "replace the Python function with SQL functions",
        "F.udf(str.upper)",
    ),
    "state that never ends": Fault(
        "decode(payments, PAYMENTS,",
        'decode(payments.dropDuplicates(["key", "value"]), PAYMENTS,',
        "state",
        "the query has no watermark",
        "withWatermark",
        "dropDuplicates(",
    ),
}
"""Faults with a copy each."""

SMALL_FAULTS = {
    "row without a topic": Fault('.otherwise("payments-flagged")', "", "input", "null topic", "give every row a topic"),
    "records that vanish": Fault(
        "decode(payments, PAYMENTS,",
        'decode(payments.where("value is not null and length(value) > 0"), PAYMENTS,',
        "input",
        "are dropped without a trace: a null value, an empty value",
        "reject topic",
    ),
    "clock in a result": Fault(
        'value=F.to_json(F.struct(*fields, "flags"))',
        'value=F.to_json(F.struct(*fields, "flags", F.expr("uuid()").alias("id")))',
        "restart",
        "with different bytes",
        "derive every result from its source record alone",
    ),
    "password in the plan": Fault(
        "checks = {",
        'password = "geheim-0815"\n'
        '    payments = payments.where(F.coalesce(F.col("key").cast("string"), F.lit("")) != password)\n    checks = {',
        "secrets",
        "the code contains a password or token, and Spark prints it in the plan and Spark's log",
        "secret store",
        'password = "geheim-0815"',
    ),
}
"""Faults that do not hide each other, in one copy."""


def broken_copy(folder: Path, *faults: Fault) -> Path:
    text = ORIGINAL.read_text(encoding="utf-8")
    for fault in faults:
        assert fault.right in text
        text = text.replace(fault.right, fault.wrong, 1)
    path = folder / "payments.py"
    path.write_text(text, encoding="utf-8")
    return path


def line_of(path: Path, part: str) -> int:
    return 1 + next(n for n, text in enumerate(path.read_text(encoding="utf-8").splitlines()) if part in text)
