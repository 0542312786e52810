"""Uses once, in the worker, what every child will use: the first use costs most.

    warm_up(prepared.seeds, ["numpy", "pandas"])

Rules:

- Python compiles, seeds and writes a result for a program of our own, so that parser,
  tables and specialised code are ready when a child begins.
- A package that loads parts of itself on first use is used in the smallest way. A
  failure here happens again, and is reported, in the child of the program that uses the
  package.
- Nothing that a program could see is left behind.

Runs in the worker, whenever it has loaded something.
"""

from __future__ import annotations

import sys

from muniment_plugins.capsule.child import program
from muniment_plugins.capsule.child.rewrite import compiled
from muniment_plugins.capsule.protocol import render

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from muniment_plugins.capsule.child.seeds import Seeds

__all__ = ["takes_long", "warm_up"]

_CODE = """
def use(data):
    total = 0
    for number in data:
        total += number * 2 if number > 1 else 1
    return {"n": total, "text": f"{total:.2f}", "sum": sum(x for x in data)}
"""


def warm_up(seeds: Seeds, imports: list[str]) -> None:
    """Use the interpreter, and each package of *imports*, as a program would."""
    seeds.start(0)
    namespace: dict[str, Any] = program.namespace_of({}, 0)
    exec(compiled(_CODE), namespace)  # noqa: S102 - ours
    for _ in range(8):  # the interpreter specialises after this many
        render(namespace["use"]([1, 2, 3.5]))
    del sys.modules[program.MODULE]
    for name in _used(imports):
        try:
            _USES[name](sys.modules[name])
        except Exception:  # noqa: BLE001, S112 - reported to the program that uses it
            continue


def takes_long(imports: list[str]) -> bool:
    """Tell whether *imports* include a package that needs warming up."""
    return bool(_used(imports))


def _used(imports: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in imports} & _USES.keys()


def _use_numpy(numpy: Any) -> None:
    table = numpy.asarray([[1.0, 2.0], [3.0, 4.5]])
    render({"n": numpy.mean(table @ table), "sums": numpy.sum(table, axis=0)})


def _use_pandas(pandas: Any) -> None:
    table = pandas.DataFrame({"x": [1.0, 2.5], "name": ["a", "b"]})
    render({"n": table.x.mean(), "sums": table.groupby("name").x.sum().to_dict()})
    table.to_dict()


def _use_sklearn(_: Any) -> None:
    metrics = sys.modules.get("sklearn.metrics")
    if metrics is not None:
        metrics.accuracy_score([1, 2], [1, 1])


_USES: dict[str, Callable[[Any], None]] = {
    "numpy": _use_numpy,
    "pandas": _use_pandas,
    "sklearn": _use_sklearn,
}
