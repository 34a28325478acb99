"""The site: what mkdocs needs beyond the Markdown tree, which it shows as it is."""
