"""Each payment gets the newest holder of its card from a topic with older and deleted holders."""

import json

from evals.stage import Answer, fields, outputs, require_same
from spark_rtm.prove.subjects.bench import Bench

HOLDERS = [("c1", "Ada"), ("c2", "Bo"), ("c1", "Ann"), ("c3", "Cy"), ("c3", None), ("c1", "Abe")]
EXPECTED = {"c1": "Abe", "c2": "Bo", "c3": None, "c4": None}


def verify(bench: Bench, answer: Answer) -> None:
    """Send two payments per card, including cards without a holder."""
    holders = [(card, json.dumps({"holder": name}) if name else None) for card, name in HOLDERS]
    payments = [{"card": card, "amount_cents": cents} for card in EXPECTED for cents in (1, 2)]
    found = [fields(record) for record in outputs(bench, answer, payments, tables={"holders": holders})]
    expected = [(payment["card"], payment["amount_cents"], EXPECTED[str(payment["card"])]) for payment in payments]
    require_same(expected, [(f.get("card"), f.get("amount_cents"), f.get("holder")) for f in found], "payments")
