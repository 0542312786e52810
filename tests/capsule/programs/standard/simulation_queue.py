"""A queue at a counter, simulated event by event with a seeded generator."""
import heapq
import random
from dataclasses import dataclass, field
from itertools import count


@dataclass(order=True)
class Event:
    time: float
    order: int
    kind: str = field(compare=False)
    customer: int = field(compare=False)


@dataclass
class Simulation:
    rng: random.Random
    events: list[Event] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    arrived: dict[int, float] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)
    busy: bool = False
    numbers: count = field(default_factory=count)

    def schedule(self, time, kind, customer):
        heapq.heappush(self.events, Event(time, next(self.numbers), kind, customer))

    def begin(self, now, customer):
        self.busy = True
        self.waits.append(now - self.arrived[customer])
        self.schedule(now + self.rng.expovariate(1.0), "leave", customer)

    def run(self, customers):
        now = 0.0
        for customer in range(customers):
            now += self.rng.expovariate(0.8)
            self.schedule(now, "arrive", customer)
        while self.events:
            event = heapq.heappop(self.events)
            if event.kind == "arrive":
                self.arrived[event.customer] = event.time
                if self.busy:
                    self.waiting.append(event.customer)
                else:
                    self.begin(event.time, event.customer)
            elif self.waiting:
                self.begin(event.time, self.waiting.pop(0))
            else:
                self.busy = False
        return self.waits


def fit_and_eval(data):
    waits = Simulation(random.Random(1)).run(200)
    return {
        "customers": len(waits),
        "mean": round(sum(waits) / len(waits), 9),
        "longest": round(max(waits), 9),
        "immediate": sum(w == 0 for w in waits),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'customers': 200, 'mean': 4.229673982, 'longest': 16.319724024, 'immediate': 35}
