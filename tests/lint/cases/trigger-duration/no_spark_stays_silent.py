def animate(timeline):
    """Play a real-time animation."""
    timeline.trigger(realTime=True)
