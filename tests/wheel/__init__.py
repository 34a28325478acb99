"""Tests of the wheel, the hook, the action and the files of a release."""
