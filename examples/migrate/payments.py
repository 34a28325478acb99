"""Send random payments, and compute the expected totals."""

import random
from collections import Counter

from confluent_kafka import Producer

from examples.migrate.seeds import Total
from examples.migrate.totals import Places

CARDS = 20


class Payments:
    """A seeded generator of payments that stores their totals."""

    def __init__(self, places: Places, partitions: int, seed: int = 7) -> None:
        """Prepare to send payments to the topic `places.payments` with this number of partitions."""
        self.places, self.partitions, self.random = places, partitions, random.Random(seed)
        self.counts, self.cents = Counter[str](), Counter[str]()

    def send(self, count: int) -> None:
        """Send payments of random cards and wait for the broker. A card always has the same partition."""
        producer = Producer({"bootstrap.servers": self.places.bootstrap_servers, "linger.ms": 0})
        for _ in range(count):
            number, cents = self.random.randrange(CARDS), self.random.randrange(1, 10_000)
            card, value = f"card-{number:02}", f'{{"amount_cents": {cents}}}'
            producer.produce(self.places.payments, value, card, partition=number % self.partitions)
            self.counts[card] += 1
            self.cents[card] += cents
        if producer.flush(30):
            raise TimeoutError(f"the broker did not confirm all payments; check {self.places.bootstrap_servers!r}")

    @property
    def totals(self) -> list[Total]:
        """Return the totals of all sent payments, sorted by card."""
        return [(card, self.counts[card], self.cents[card]) for card in sorted(self.counts)]
