"""Checks for each file format: Markdown, notebooks, Scala, cluster definitions in JSON and YAML."""
