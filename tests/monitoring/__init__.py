"""Tests of the exported metrics, the alert rules and the dashboard."""
