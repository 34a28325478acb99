"""
Check the pack. Each check takes the root folder and yields findings.

A test for each check proves that the check can fail.
"""
