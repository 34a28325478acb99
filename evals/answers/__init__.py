"""
Answers to the coding tasks: a right one, and wrong ones with the verifier's expected reason.

The wrong answers are typical of code that ignores real-time mode.
"""
