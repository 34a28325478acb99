"""Run the pipeline for hours, and report growing resources."""
