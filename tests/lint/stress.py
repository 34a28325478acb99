"""
Inputs that stop a naive linter: short repeated, nested or doubled ones, and some of almost 2 MB.

`tests/hostile` lints each of them in a process with limits.
"""

WORDS = "# Real-time mode\n\n"
CODE = "# spark realTime\n"
CLUSTER = "name: rtm\njob:\n  spark_version: x\n"
ALIASES = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))
LAMBDAS = "f0 = lambda: 1\n" + "".join(f"f{n} = lambda: [{', '.join([f'f{n - 1}()'] * 40)}]\n" for n in range(1, 9))
STREAMS = "".join(f"if c{n}:\n    x = spark.readStream.format('{n}').load()\n" for n in range(30))
CELL = '{{"cells": [{{"cell_type": "code", "source": [{}]}}]}}'

COMMENTS = {"py": "# ", "md": "<!-- "}
SILENCERS = {"ignore": "rtm: ignore ", "file-ignore": "rtm: file-ignore[\n", "blanks": "rtm:\n" + " " * 9}
SILENCING = {
    f"{name}-comments.{suffix}": f"{start}rtm realTime spark\n" + f"{start}{silencer}" * 80_000
    for name, silencer in SILENCERS.items()
    for suffix, start in COMMENTS.items()
}
"""Comments that silence rules, repeated."""
BLANK_LINES = {
    f"blank-lines.{suffix}": f"{start}rtm realTime spark\n\nfile-ignore\n" + "\n" * 700_000
    for suffix, start in COMMENTS.items()
}

INPUTS = {
    **SILENCING,
    **BLANK_LINES,
    "claim-words.md": WORDS + "use rtm with " * 240,
    "claim-trigger.md": WORDS + "continuous='1' enables " * 600,
    "aliases.yaml": CLUSTER + ALIASES,
    "aliases-in-fence.md": f"{WORDS}```yaml\n{CLUSTER}{ALIASES}```\n",
    "list-of-itself.py": CODE + "a = [1]\n" + "a = [a, a]\n" * 60 + "foo(a)\n",
    "lambdas.py": CODE + LAMBDAS + "f8()\n",
    "doubled-text.py": CODE + "a = 'x'\n" + "a = a + a\n" * 45,
    "doubled-f-string.py": CODE + "a = 'x'\n" + "a = f'{a}{a}'\n" * 45,
    "comments.md": WORDS + "<!--" * 40_000,
    "comments.scala": "// RealTime spark\n" + "/* x " * 40_000,
    "braces.scala": "// RealTime spark\n" + "{" * 200_000,
    "brackets.java": "// RealTime spark\n" + "f(" * 100_000,
    "lambdas.scala": "// RealTime spark\n" + "a => b -> c(d -> { e => f }) => " * 5000,
    "generics.java": "// RealTime spark\n" + "A<B<" * 20_000,
    "conditions.scala": "// RealTime spark\n" + "if (a) b else " * 10_000,
    "heredocs.tf": "# rtm spark_version\n" + "a = <<E\n" * 40_000,
    "blocks.tf": "# rtm spark_version\n" + "a {" * 50_000 + "}]" * 50_000,
    "settings.sql": "-- rtm\n" + "SET a.b = " * 100_000 + "SET a.b = 1;" * 50_000,
    "streams.scala": "// RealTime spark\n" + ".writeStream " * 8000,
    "quotes.md": WORDS + ">" * 10_000 + "```python\n" + "> x\n" * 1000,
    "fence-info.md": WORDS + "```" + "a" * 20_000 + "\nx\n```\n",
    "heading-blanks.md": WORDS + "# a" + " " * 20_000 + "b\n",
    "values.json": '{"name": "rtm", "num_workers": [' + "0," * 100_000 + "0]}",
    "cell-lines.ipynb": CELL.format(",".join(f'\n"realTime {n} \\u00e9\\n"' for n in range(4000))),
    "fences.md": WORDS + "```python\nrealTime\n```\ntext:\n" * 2000,
    "wrong-comments.py": CODE + "# wrong\n" * 8000,
    # Inputs whose memory would grow with the square of their length, and the largest files.
    "chain-of-operators.py": CODE + "df = spark.readStream.load()\n" + 'df = df.where("a")\n' * 40_000,
    "chain-of-options.py": CODE + "w = df.writeStream\n" + "".join(f"w = w.option('{n}', 1)\n" for n in range(20_000)),
    "queries-of-operators.py": CODE
    + "df = spark.readStream.load()\n"
    + "df = df.limit(1)\n" * 500
    + 'df.writeStream.trigger(realTime="5 minutes").start()\n' * 500,
    "functions.py": CODE + "".join(f"def f{n}(): 0\n" for n in range(15_000)),
    "conditions.py": CODE + "".join(f"if x{n}: a{n} = 1\n" for n in range(20_000)),
    "arguments.py": CODE + STREAMS + "f(x, x, x)\n" * 60_000,
    "nested-conditions.py": CODE
    + "".join(" " * n + f"if c{n}:\n" + " " * (n + 1) + f"x = {n}\n" for n in range(90)) * 20,
    "dense-code.py": CODE + "a," * 290_000,
    "too-dense-code.py": CODE + "f()\n" * 490_000,
    "too-dense-code.scala": "// RealTime spark\n" + "f()\n" * 110_000,
    "wide-table.md": WORDS + "a|" * 50_000 + "\n" + "-|" * 50_000 + "\n" + "|a|\n" * 50_000,
    "runs-of-backticks.md": WORDS + " ".join("`" * n for n in range(1, 1000)),
    "many-values.json": '{"name": "rtm", "num_workers": [' + "[]," * 600_000 + "0]}",
    "large-number.py": "w.trigger(realTime=0x" + "f" * 4000 + ")\nx = f'{0x" + "f" * 5000 + "}'\n",
}
"""Inputs by file name."""

INCOMPLETE = {
    "lambdas.py": "too many paths",
    "chain-of-operators.py": "too many paths",
    "chain-of-options.py": "too many paths",
    **dict.fromkeys(("conditions.py", "arguments.py", "nested-conditions.py"), "too many paths"),
    "too-dense-code.py": "more than 600,000 tokens",
    "too-dense-code.scala": "more than 300,000 tokens",
    "file-ignore-comments.py": "more than 600,000 tokens",
    "blank-lines.py": "more than 600,000 tokens",
    "many-values.json": "more than 400,000 tokens",
}
"""Inputs that are not checked to the end, with a part of the reported reason."""
