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


UDF = Fault(
    'key=F.col("record.card")',
    'key=F.udf(str.upper)(F.col("record.card"))',
    "mode",
    "OPERATOR_OR_SINK_NOT_IN_ALLOWLIST",
    "replace the Python function with SQL functions",
    "F.udf(str.upper)",
)
"""Prevents the start of the query, so it hides other faults."""

FAULTS = {
    "row without a topic": Fault('.otherwise("payments-flagged")', "", "input", "null topic", "give every row a topic"),
    "records that vanish": Fault(
        "decode(payments, PAYMENTS,",
        'decode(payments.where("value is not null and length(value) > 0").where(HARMLESS), PAYMENTS,',
        "input",
        "are dropped without a trace: a null value, an empty value",
        "reject topic",
    ),
    "ANSI cast": Fault(
        "HARMLESS",
        "\n        F.coalesce(\n"
        "            F.get_json_object(F.col('value').cast('string'), '$.amount_cents').cast('long') > 0, F.lit(True)\n"
        "        )\n    ",
        "input",
        "CAST_INVALID_INPUT",
        "try_cast",
        ".cast('long')",
    ),
    "clock in a result": Fault(
        'value=F.to_json(F.struct(*fields, "flags"))',
        'value=F.to_json(F.struct(*fields, "flags", F.expr("uuid()").alias("id")))',
        "restart",
        "with different bytes",
        "derive every result from its source record alone",
    ),
    "password in the plan": Fault(
        "decoded = decode(",
        'password = "geheim-0815"\n'
        '    payments = payments.where(F.coalesce(F.col("key").cast("string"), F.lit("")) != password)\n'
        "    decoded = decode(",
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
