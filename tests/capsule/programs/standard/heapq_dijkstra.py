"""Shortest paths, the largest items, merged streams and a scheduler."""
import heapq
from heapq import heapify, heappop, heappush, heappushpop, heapreplace, merge, nlargest, nsmallest

GRAPH = {
    "A": {"B": 4, "C": 2},
    "B": {"D": 5},
    "C": {"B": 1, "D": 8, "E": 10},
    "D": {"E": 2},
    "E": {},
}


def dijkstra(graph, start):
    distances = {node: float("inf") for node in graph}
    distances[start] = 0
    previous = {}
    queue = [(0, start)]
    while queue:
        distance, node = heapq.heappop(queue)
        if distance > distances[node]:
            continue
        for neighbour, weight in graph[node].items():
            candidate = distance + weight
            if candidate < distances[neighbour]:
                distances[neighbour] = candidate
                previous[neighbour] = node
                heapq.heappush(queue, (candidate, neighbour))
    return distances, previous


def path(previous, end):
    nodes = [end]
    while nodes[-1] in previous:
        nodes.append(previous[nodes[-1]])
    return nodes[::-1]


class Median:
    def __init__(self):
        self.low, self.high = [], []

    def add(self, value):
        heappush(self.high, -heappushpop(self.low, -value))
        if len(self.high) > len(self.low):
            heappush(self.low, -heappop(self.high))

    @property
    def value(self):
        if len(self.low) > len(self.high):
            return -self.low[0]
        return (self.high[0] - self.low[0]) / 2


def fit_and_eval(data):
    distances, previous = dijkstra(GRAPH, "A")
    median = Median()
    medians = []
    for value in (5, 15, 1, 3):
        median.add(value)
        medians.append(median.value)
    heap = [5, 1, 4]
    heapify(heap)
    tasks = []
    for priority, name in ((3, "c"), (1, "a"), (2, "b")):
        heappush(tasks, (priority, name))
    return {
        "distances": distances,
        "path": path(previous, "E"),
        "medians": medians,
        "replaced": [heapreplace(heap, 9), heap[0]],
        "largest": nlargest(2, data),
        "smallest": nsmallest(2, ["ccc", "a", "bb"], key=len),
        "merged": list(merge([1, 4], [2, 3], [0, 9])),
        "tasks": [heappop(tasks)[1] for _ in range(3)],
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'distances': {'A': 0, 'B': 3, 'C': 2, 'D': 8, 'E': 10},
 'path': ['A', 'C', 'B', 'D', 'E'],
 'medians': [5, 10.0, 5, 4.0],
 'replaced': [1, 4],
 'largest': [5, 4],
 'smallest': ['a', 'bb'],
 'merged': [0, 1, 2, 3, 4, 9],
 'tasks': ['a', 'b', 'c']}
