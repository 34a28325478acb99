"""Run the pipeline for hours, and report resources that grow."""
