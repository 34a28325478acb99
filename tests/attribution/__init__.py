"""Tests of the ad-attribution pipeline."""
