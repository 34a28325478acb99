"""Linters for each file format: Markdown, notebooks, Scala, and cluster definitions in JSON or YAML."""
