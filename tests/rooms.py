"""
The rooms of `examples/`, `scripts/` and `evals/`, from the bottom up, and what each may import.

A room is a folder without its subfolders. A folder with several floors has a key per module: the longest key counts.
A room may import itself and the rooms listed for it; only rooms further up in this table may be listed. A room of
`scripts/` or `evals/` names a room of another folder with its full path.
"""

FULL_PATHS = ("examples/", "scripts/", "evals")

EXAMPLES = {
    # Building blocks.
    "examples/realtime": "",
    "examples/command_line": "",
    "examples/services/files": "",
    "examples/services": "services/files",
    "examples/sinks": "",
    "examples/kafka": "realtime",
    "examples/measure": "services",
    "examples/monitoring": "kafka measure realtime",
    "examples/quickstart": "kafka realtime services",
    "examples/testing": "kafka realtime services",
    "examples/alerts": "command_line kafka realtime services",
    "examples/migrate": "kafka realtime services",
    # The pipeline: its words, its rules, its flow.
    "examples/attribution/topics": "kafka",
    "examples/attribution/settings": "attribution/topics",
    "examples/attribution/events": "",
    "examples/attribution/schemas": "",
    "examples/attribution/correlation": "attribution/events attribution/schemas attribution/settings realtime",
    "examples/attribution/credit": "realtime",
    "examples/attribution/pacing": "attribution/correlation attribution/settings attribution/topics kafka",
    "examples/attribution": "attribution/events attribution/schemas attribution/settings attribution/topics "
    "attribution/correlation attribution/credit attribution/pacing kafka realtime sinks",
    "examples/attribution/pipeline": "attribution attribution/credit attribution/settings attribution/topics realtime",
    # What surrounds the pipeline when it is demonstrated.
    "examples/attribution/traffic": "attribution/events attribution/pacing attribution/settings attribution/topics "
    "kafka realtime",
    "examples/attribution/audit": "attribution/events attribution/settings attribution/topics "
    "attribution/correlation attribution/credit attribution/pacing kafka measure realtime",
    "examples/attribution/demo": "attribution attribution/audit attribution/pacing attribution/pipeline "
    "attribution/settings attribution/topics attribution/traffic command_line measure realtime services sinks",
    "examples/attribution/soak": "attribution/audit attribution/demo attribution/settings command_line measure "
    "realtime services",
    # Benchmarks: results below the harness, programs on top.
    "examples/benchmarks/results": "measure",
    "examples/benchmarks/harness": "benchmarks/results command_line kafka measure services",
    "examples/benchmarks/spark": "benchmarks/harness benchmarks/results measure realtime services",
    "examples/benchmarks/other_engines/install": "services",
    "examples/benchmarks/other_engines": "benchmarks/harness benchmarks/other_engines/install benchmarks/results "
    "benchmarks/spark services",
    "examples/benchmarks/sink": "attribution attribution/correlation attribution/settings attribution/topics "
    "measure realtime services sinks",
    # The demonstration under faults, one of which is the slow connection of the sink's benchmark.
    "examples/attribution/chaos/parts": "attribution attribution/pipeline attribution/settings attribution/topics "
    "attribution/traffic benchmarks/sink realtime services services/files",
    "examples/attribution/chaos": "attribution attribution/audit attribution/chaos/parts attribution/demo "
    "attribution/pacing attribution/pipeline attribution/settings attribution/topics attribution/traffic "
    "benchmarks/sink command_line measure realtime services",
    "examples/benchmarks/checkpoint_storage": "attribution/demo attribution/settings benchmarks/harness "
    "benchmarks/results services services/files",
    "examples/benchmarks/boundary": "benchmarks/harness benchmarks/results benchmarks/spark",
    "examples/benchmarks/growth": "benchmarks/harness benchmarks/results benchmarks/spark measure realtime services",
    "examples/benchmarks": "alerts attribution attribution/settings attribution/topics benchmarks/harness "
    "benchmarks/results benchmarks/sink benchmarks/spark command_line kafka measure realtime services",
}

SCRIPTS = {
    "scripts/text": "",
    "scripts/slots": "text",
    # The cost model is shared with the benchmark that fits it.
    "scripts/capacity": "slots examples/measure",
    # The linter: it imports nothing else, so it can be copied and installed alone.
    "scripts/lint/spark": "text",
    "scripts/lint/rules": "lint/spark text",
    "scripts/lint/prose/topics": "",
    "scripts/lint/prose/certainty": "lint/prose/topics",
    "scripts/lint/prose/polarity": "lint/prose/topics",
    "scripts/lint/prose/relations": "lint/prose/certainty lint/prose/polarity lint/prose/topics",
    "scripts/lint/prose": "lint/prose/certainty lint/prose/polarity lint/prose/relations lint/prose/topics "
    "lint/rules text",
    "scripts/lint/python": "lint/prose lint/rules lint/spark",
    "scripts/lint/jvm": "",
    "scripts/lint/files": "lint/jvm lint/prose lint/prose/certainty lint/prose/topics lint/python lint/rules "
    "lint/spark text",
    "scripts/lint": "lint/files lint/prose lint/python lint/rules lint/spark text",
    # The command `inspect`: it imports nothing else, because it runs on a bare Python.
    "scripts/checkpoint/files": "",
    "scripts/checkpoint": "checkpoint/files",
    # The pack as files: what is generated and installed, then the checks, then all of them.
    "scripts/pack/tables": "capacity",
    "scripts/pack/tables/pipeline": "pack/tables",
    "scripts/pack": "lint pack/tables pack/tables/pipeline text",
    "scripts/pack/checks": "lint pack text",
    "scripts/pack/validate": "pack/checks text",
    "scripts/site": "pack pack/checks text",
    # The engine's verdict on somebody's own query: needs Spark and Kafka, so it imports examples.
    "scripts/prove/verdicts": "pack text examples/realtime",
    "scripts/prove/subjects": "examples/kafka examples/realtime examples/services examples/services/files "
    "examples/testing",
    "scripts/prove/checks": "prove/subjects prove/verdicts examples/measure examples/realtime examples/testing",
    "scripts/prove": "lint prove/checks prove/subjects prove/verdicts text examples/realtime examples/testing",
    # The two programs and their common commands.
    "scripts/prove_examples": "pack prove prove/subjects prove/verdicts text",
    "scripts/commands": "checkpoint lint prove slots text",
    "scripts/rtm": "commands",
    "scripts/skills": "capacity commands pack pack/validate text",
}

EVALS = {
    # The answers are code of users; the verifiers run them.
    "evals/answers": "examples/realtime",
    "evals": "scripts/pack scripts/prove/subjects scripts/text examples/kafka examples/realtime "
    "examples/services/files examples/testing",
    "evals/verifiers": "evals scripts/prove/subjects examples/kafka examples/realtime examples/services/files "
    "examples/testing",
}

ALLOWED: dict[str, frozenset[str]] = {
    room: frozenset(name if name.startswith(FULL_PATHS) else f"{base}/{name}" for name in names.split())
    for base, table in (("examples", EXAMPLES), ("scripts", SCRIPTS), ("evals", EVALS))
    for room, names in table.items()
}


def room_of(module: str) -> str:
    """Return the room of a module, which is a path without suffix such as `examples/kafka/topics`."""
    folder = module.rpartition("/")[0]
    return module if module in ALLOWED else folder
