"""
Answers to the coding tasks: one that solves the task, and wrong ones with the reason that the verifier must give.

The wrong ones are typical for code that does not take real-time mode into account.
"""
