"""Check the pack. Each check takes the root folder and yields findings. A test proves that the check can fail."""
