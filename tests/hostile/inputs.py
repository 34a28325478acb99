from tests.hostile import checkpoints, copies, fixes, numbers, projects, texts

CASES = [*texts.CASES, *projects.CASES, *fixes.CASES, *checkpoints.CASES, *copies.CASES, *numbers.CASES]
