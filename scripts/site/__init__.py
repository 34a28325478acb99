"""Hooks, forms and assets for the mkdocs site of the repository."""
