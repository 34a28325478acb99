import random
import re

from tests.hostile.case import INPUT, Case, file
from tests.hostile.texts import ATOMS, SEED, TOKEN
from tests.lint.case_files import cases_of_rules

JOBS = [text for name, text in sorted(cases_of_rules().items()) if name.endswith(".py")]
SOURCE = 'spark.readStream.format("kafka").load()'
WRITE = '.writeStream.format("console").outputMode("append").trigger(realTime=True).start()\n'
WRONG = SOURCE + WRITE
USERS = "u = spark.read.table('u')\n"
FORMS = {
    "form feeds and tabs": "\x0cif x:\n\t" + WRONG + "\x0c\n",
    "mixed ends": WRONG + "x = 1\r\n" + WRONG + "y = 2\r" + WRONG,
    "letters": "é = '\U0001f600'; " + WRONG,
    "commented": "(" + WRONG.strip().replace(".trigger(", "# a\n.trigger( # b\n") + ")\n",
    "in an f-string": "x = f'{" + WRONG.strip().replace('"', "'").replace("'", '"') + "}'\n",
    "nested": "f(" * 80 + WRONG.strip() + ")" * 80 + "\n",
    "parentheses": WRONG.replace("True", "(((True)))").replace('"append"', '(("append"))'),
    "stars": WRONG.replace("realTime=True", "*a, **{'realTime': True}"),
    "import only": "def f():\n    from pyspark.sql.streaming import Trigger\n" + WRONG.replace("\n", ""),
    "import and code": "from pyspark.sql.streaming import Trigger; x = 1\n" + WRONG,
    "joins": USERS + "v = " + SOURCE + ".join(u, 'k')" * 20 + "\nv" + WRITE,
    "docstring": '"""Module."""\n' + USERS + SOURCE + ".join(u, 'k')" + WRITE,
    "mark": "\ufeff" + WRONG.strip(),
    "many": WRONG * 500,
    "many joins": USERS + "v = " + SOURCE + "\n" + "v = v.join(u, 'k')\n" * 400 + "v" + WRITE,
    "slow": "".join(f"if x{n}: a{n} = 1\n" for n in range(4000)) + WRONG,
    "nul": WRONG + "\0",
    "syntax": WRONG + "f(\n",
    "trigger in trigger": WRONG.replace("True", WRONG.strip()),
}


def _damaged(rng: random.Random) -> str:
    parts = [WRONG]
    for text in rng.sample(JOBS, 3):
        tokens = TOKEN.findall(re.sub(r"# expect.*", "", text))
        for _ in range(rng.randint(0, 3)):
            choices = ["", " ", "\r\n", "True", rng.choice(tokens), rng.choice(ATOMS)]
            tokens[rng.randrange(len(tokens))] = rng.choice(choices)
        wrong = rng.choice(["realTime=True", 'real_time="1 second"'])
        parts.append("".join(tokens).replace('realTime="5 minutes"', wrong))
    return "".join(parts)


_RNG = random.Random(f"{SEED} fixes")
CASES = [
    Case(f"lint --fix {name}", ["lint", "--fix", "."], file("job.py", text), writes=(f"{INPUT}/job.py",))
    for name, text in (FORMS | {f"damaged {number}": _damaged(_RNG) for number in range(20)}).items()
]
