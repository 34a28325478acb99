"""
One module per coding task: its verifier, the answer `right`, and wrong answers with the verifier's expected reason.

The wrong answers are typical of code that ignores real-time mode.
"""
