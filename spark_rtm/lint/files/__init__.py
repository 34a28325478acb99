"""Readers for each file format: Markdown, notebooks, Scala, Java, SQL, and definitions in JSON, YAML or Terraform."""
