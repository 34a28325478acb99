"""
One verifier per coding task: it runs an answer on a real broker and raises `WrongAnswerError` with the reason.

A verifier and the answers in `evals/answers` have the name of the task in `evals/evals.json`.
"""
