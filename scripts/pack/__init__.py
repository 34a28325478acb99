"""The pack as files: generate, validate, install."""
