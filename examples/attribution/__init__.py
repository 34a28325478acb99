"""The ad-attribution pipeline: one hop per module, put together by `pipeline`."""
