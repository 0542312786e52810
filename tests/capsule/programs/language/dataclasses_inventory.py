"""Data classes that inherit, nest and keep a cache out of comparisons."""
from dataclasses import astuple, dataclass, field, fields
from typing import ClassVar, Dict, List, Optional


@dataclass
class Entity:
    name: str
    count: ClassVar[int] = 0


@dataclass
class Product(Entity):
    price: float = 0.0
    quantity: int = 0
    note: Optional[str] = None
    _cache: dict = field(default_factory=dict, repr=False, compare=False)

    @property
    def value(self) -> float:
        if "value" not in self._cache:
            self._cache["value"] = self.price * self.quantity
        return self._cache["value"]


@dataclass(kw_only=True)
class Inventory:
    products: List[Product] = field(default_factory=list)
    index: Dict[str, Product] = field(init=False, repr=False)

    def __post_init__(self):
        self.index = {p.name: p for p in self.products}

    def total(self) -> float:
        return sum(p.value for p in self.products)


def fit_and_eval(data):
    inventory = Inventory(products=[Product(f"p{i}", 1.25 * i, i) for i in data])
    return {
        "total": inventory.total(),
        "repr": repr(inventory.products[0]),
        "fields": [f.name for f in fields(Product)],
        "tuple": list(astuple(inventory.index["p2"])[:3]),
        "equal": Product("a", 1.0, 2) == Product("a", 1.0, 2),
        "keys": sorted(inventory.index),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'total': 68.75,
 'repr': "Product(name='p1', price=1.25, quantity=1, note=None)",
 'fields': ['name', 'price', 'quantity', 'note', '_cache'],
 'tuple': ['p2', 2.5, 2],
 'equal': True,
 'keys': ['p1', 'p2', 'p3', 'p4', 'p5']}
