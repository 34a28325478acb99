"""Define the time windows and limits of the correlation rule."""

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Windows:
    """
    Correlation windows in milliseconds, and the maximum number of events per transaction.

    A window includes both its start and its end. The defaults are common values in ad measurement. Demonstrations and
    tests shorten all windows with `scaled`.
    """

    request_to_impression_ms: int = 300_000
    """
    Maximum time from a request to its impression. A later impression gets the code `late_impression`.

    An ad slot of the request stays pending until an impression fills the slot or this time has passed.
    """
    impression_to_click_ms: int = 900_000
    """Maximum time from an impression to its click. A later click gets the code `late_click`."""
    playback_grace_ms: int = 300_000
    """
    Maximum time from an impression to a playback step, in addition to the creative length.

    A later step gets the code `late_step`.
    """
    hold_ms: int = 300_000
    """Maximum time that an impression waits for its request before the impression becomes an orphan."""
    clock_skew_limit_ms: int = 300_000
    """Maximum difference between the device's and the collector's clock. Beyond it, the collector's time is used."""
    skew_tolerance_ms: int = 2_000
    """Maximum time by which an event can precede its parent event and still count as simultaneous with it."""
    max_creative_ms: int = 120_000
    """
    Maximum creative length. Records with longer creatives are rejected as `bad_number`.

    Longer creatives would delay the expiry of state.
    """

    max_events: int = 100
    """
    Maximum number of correlated events per transaction. All later events get the code `too_many_events`.

    The limit does not depend on `time_scale`. The CPU time for an event grows with the number of earlier events. The
    state of each transaction takes 20 bytes for each event that the limit allows.
    """

    def scaled(self, time_scale: int) -> "Windows":
        """Return the windows divided by `time_scale`. With a time scale of 60, minutes become seconds."""
        times = [field.name for field in fields(self) if field.name.endswith("_ms")]
        return replace(self, **{name: getattr(self, name) // time_scale for name in times})

    @property
    def horizon_ms(self) -> int:
        """Return the maximum time from a request to an event that can still change a result of this request."""
        last_child_ms = max(self.impression_to_click_ms, self.max_creative_ms + self.playback_grace_ms)
        return self.request_to_impression_ms + last_child_ms + self.hold_ms + self.clock_skew_limit_ms
