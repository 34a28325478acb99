"""
One verifier per coding task, which runs an answer on a broker and raises `WrongAnswerError` with the reason.

A verifier and its answers in `evals/answers` have the task's name in `evals/evals.json`.
"""
