"""Parse Markdown and frontmatter, and render findings."""
