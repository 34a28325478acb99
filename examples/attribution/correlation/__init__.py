"""The correlation rule: which impressions, clicks and playback steps belong to which ad request."""
