"""Parse Markdown, and render findings."""
