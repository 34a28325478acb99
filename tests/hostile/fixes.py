import random
import re

from tests.hostile.case import INPUT, Case, file
from tests.hostile.texts import ATOMS, SEED, TOKEN
from tests.lint.case_files import cases_of_rules

JOBS = [text for name, text in sorted(cases_of_rules().items()) if name.endswith(".py")]
START = 'spark.readStream.format("kafka").load().writeStream'
SOURCE = START.removesuffix(".writeStream")
WRONG = f'{START}.format("console").outputMode("append").trigger(realTime=True).start()\n'
WRITE = WRONG.removeprefix(SOURCE)
FORMS = {
    "tabs": "if x:\n\t" + WRONG,
    "form feeds": "\x0c" + WRONG + "\x0c\n" + WRONG,
    "vertical tabs": "# \x0b \x1c \x85 \u2028\n" + WRONG,
    "carriage returns": WRONG.replace("\n", "\r") * 3,
    "mixed ends": WRONG + "x = 1\r\n" + WRONG + "y = 2\r" + WRONG,
    "letters": "é = '\U0001f600'; " + WRONG,
    "continued": WRONG.replace(".trigger", "\\\n.trigger"),
    "commented": "(" + WRONG.strip().replace(".trigger(", "# a\n.trigger( # b\n") + ")\n",
    "in an f-string": "x = f'{" + WRONG.strip().replace('"', "'").replace("'", '"') + "}'\n",
    "one line": WRONG.strip() + "; " + WRONG,
    "nested": "f(" * 80 + WRONG.strip() + ")" * 80 + "\n",
    "parentheses": WRONG.replace("True", "(((True)))").replace('"append"', '(("append"))'),
    "joined texts": WRONG.replace('"append"', '"app" "end"'),
    "bytes": WRONG.replace('"append"', 'b"append"'),
    "walrus": WRONG.replace("True", "(x := True)"),
    "stars": WRONG.replace("realTime=True", "*a, **{'realTime': True}"),
    "import only": "def f():\n    from pyspark.sql.streaming import Trigger\n" + WRONG.replace("\n", ""),
    "imports": "from pyspark.sql.streaming import (\n  Trigger,  # a\n  DataStreamWriter,\n)\n" + WRONG,
    "import and code": "from pyspark.sql.streaming import Trigger; x = 1\n" + WRONG,
    "after the import": "x = 1; from pyspark.sql.streaming import Trigger\n" + WRONG,
    "joins": "u = spark.read.table('u')\nv = " + SOURCE + ".join(u, 'k')" * 20 + "\nv" + WRITE,
    "generator joined": "v = " + SOURCE + ".join(*[u], 'k')\nv" + WRITE,
    "docstring": '"""Module."""\nu = spark.read.table(\'u\')\n' + SOURCE + ".join(u, 'k')" + WRITE,
    "no line end": WRONG.strip(),
    "mark": "\ufeff" + WRONG,
    "coding": "# -*- coding: latin-1 -*-\nx = 'é'\n" + WRONG,
    "other coding": "# coding: utf-7\n" + WRONG,
    "many": WRONG * 1000,
    "long line": "x = [" + f"{WRONG.strip()}, " * 500 + "]\n",
    "many joins": "u = spark.read.table('u')\nv = " + SOURCE + "\n" + "v = v.join(u, 'k')\n" * 400 + "v" + WRITE,
    "slow": "".join(f"if x{n}: a{n} = 1\n" for n in range(4000)) + WRONG,
    "nul": WRONG + "\0",
    "syntax": WRONG + "f(\n",
    "decorator": "@" + WRONG + "def f(): pass\n",
    "class": f"class A:\n  x: int = {WRONG}",
    "match": "match x:\n  case 1: " + WRONG,
    "type": "def f(a=" + WRONG.strip() + "): ...\n",
    "trigger in trigger": WRONG.replace("True", WRONG.strip()),
}


def _damaged(rng: random.Random) -> str:
    parts = []
    for text in rng.sample(JOBS, 3):
        tokens = TOKEN.findall(re.sub(r"# expect.*", "", text))
        for _ in range(rng.randint(0, 3)):
            tokens[rng.randrange(len(tokens))] = rng.choice(
                ["", " ", "\r\n", "True", rng.choice(tokens), rng.choice(ATOMS)]
            )
        parts.append(
            "".join(tokens).replace('realTime="5 minutes"', rng.choice(["realTime=True", 'real_time="1 second"']))
        )
    return "".join([WRONG, *parts])


def _cases() -> list[Case]:
    rng = random.Random(f"{SEED} fixes")
    texts = FORMS | {f"damaged {number}": _damaged(rng) for number in range(20)}
    return [
        case
        for name, text in texts.items()
        for case in (
            Case(f"lint --fix {name}", ["lint", "--fix", "."], file("job.py", text), writes=(f"{INPUT}/job.py",)),
            *(
                [Case(f"lint --diff {name}", ["lint", "--diff", "job.py"], file("job.py", text))]
                if name in FORMS
                else []
            ),
        )
    ]


CASES = _cases()
