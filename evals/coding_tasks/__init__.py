"""One module per coding task: its verifier, the answer `right`, and typical wrong answers with the expected reasons."""
