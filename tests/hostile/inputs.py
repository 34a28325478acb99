from tests.hostile import checkpoints, copies, numbers, projects, texts

CASES = [*texts.CASES, *projects.CASES, *checkpoints.CASES, *copies.CASES, *numbers.CASES]
