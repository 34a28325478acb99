"""Read Markdown and front matter; render findings."""
