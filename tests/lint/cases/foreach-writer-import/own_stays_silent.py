from sinks.postgres import ForeachWriter


class Sink:
    """Stands where Scala has a ForeachWriter."""
