"""Parse Markdown and frontmatter; render findings."""
