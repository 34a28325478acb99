"""Run the pipeline for hours, and report what grows."""
