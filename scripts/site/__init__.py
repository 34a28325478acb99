"""Hooks, forms and assets with which mkdocs renders the repository as a site."""
