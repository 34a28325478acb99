"""Pacing: how much of its goal each campaign has delivered, and when to stop serving it."""
