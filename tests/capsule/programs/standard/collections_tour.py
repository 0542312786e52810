"""Counters, default dictionaries, queues, named tuples and chained maps."""
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple

Employee = namedtuple("Employee", ["name", "team", "salary"], defaults=[1000])


class LowerDict(UserDict):
    def __setitem__(self, key, value):
        super().__setitem__(key.lower(), value)


def breadth_first(graph, start):
    seen, queue, order = {start}, deque([start]), []
    while queue:
        node = queue.popleft()
        order.append(node)
        for neighbour in graph[node]:
            if neighbour not in seen:
                seen.add(neighbour)
                queue.append(neighbour)
    return order


class LRU:
    def __init__(self, capacity):
        self.capacity, self.items = capacity, OrderedDict()

    def get(self, key):
        if key not in self.items:
            return None
        self.items.move_to_end(key)
        return self.items[key]

    def put(self, key, value):
        self.items[key] = value
        self.items.move_to_end(key)
        if len(self.items) > self.capacity:
            self.items.popitem(last=False)


def fit_and_eval(data):
    text = "the cat and the hat and the bat"
    counts = Counter(text.split())
    teams = defaultdict(lambda: defaultdict(int))
    people = [Employee("a", "x", 10), Employee("b", "y"), Employee("c", "x", 30)]
    for person in people:
        teams[person.team]["total"] += person.salary
        teams[person.team]["n"] += 1
    ring = deque(data, maxlen=3)
    ring.rotate(1)
    ring.appendleft(0)
    lru = LRU(2)
    lru.put("a", 1)
    lru.put("b", 2)
    lru.get("a")
    lru.put("c", 3)
    lower = LowerDict()
    lower["KEY"] = 1
    return {
        "common": counts.most_common(2),
        "missing": counts["dog"],
        "arithmetic": dict(Counter("aab") + Counter("abc")),
        "difference": dict(Counter("aab") - Counter("ab")),
        "elements": sorted(Counter(a=2, b=1).elements()),
        "total": counts.total(),
        "teams": {k: dict(v) for k, v in teams.items()},
        "person": people[1]._replace(name="z")._asdict(),
        "fields": Employee._fields,
        "ring": list(ring),
        "bfs": breadth_first({"a": "bc", "b": "d", "c": "d", "d": ""}, "a"),
        "lru": list(lru.items.items()),
        "chain": dict(ChainMap({"a": 1}, {"a": 2, "b": 3})),
        "lower": dict(lower),
        "made": Employee._make(["q", "w", 1]).name,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'common': [['the', 3], ['and', 2]],
 'missing': 0,
 'arithmetic': {'a': 3, 'b': 2, 'c': 1},
 'difference': {'a': 1},
 'elements': ['a', 'a', 'b'],
 'total': 8,
 'teams': {'x': {'total': 40, 'n': 2}, 'y': {'total': 1000, 'n': 1}},
 'person': {'name': 'z', 'team': 'y', 'salary': 1000},
 'fields': ['name', 'team', 'salary'],
 'ring': [0, 5, 3],
 'bfs': ['a', 'b', 'c', 'd'],
 'lru': [['a', 1], ['c', 3]],
 'chain': {'a': 1, 'b': 3},
 'lower': {'key': 1},
 'made': 'q'}
