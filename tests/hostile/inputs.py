from tests.hostile import checkpoints, copies, exceptions, numbers, projects, sockets, texts

CASES = [
    *texts.CASES,
    *projects.CASES,
    *checkpoints.CASES,
    *copies.CASES,
    *exceptions.CASES,
    *numbers.CASES,
    *sockets.CASES,
]
