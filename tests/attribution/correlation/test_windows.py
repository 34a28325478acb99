from examples.attribution.correlation.windows import Windows


def test_time_scale_divides_every_window() -> None:
    scaled = Windows().scaled(60)

    assert (5_000, 15_000, 5_000, 5_000, 5_000, 33, 2_000) == (
        scaled.request_to_impression_ms,
        scaled.impression_to_click_ms,
        scaled.playback_grace_ms,
        scaled.hold_ms,
        scaled.clock_skew_limit_ms,
        scaled.skew_tolerance_ms,
        scaled.max_creative_ms,
    )


def test_horizon_covers_the_longest_chain_of_windows() -> None:
    windows = Windows()

    assert (300 + 900 + 300 + 300) * 1000 == windows.horizon_ms
