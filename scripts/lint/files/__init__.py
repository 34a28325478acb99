"""The file types that the linter reads: Markdown, notebooks, JSON and YAML definitions, Scala."""
