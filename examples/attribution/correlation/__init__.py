"""The correlation rule, which matches impressions, clicks and playback steps to ad requests."""
