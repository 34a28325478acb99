"""Run the pipeline for hours, and judge what grows."""
