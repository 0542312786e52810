"""Which packages data is made of, and whether code may import them.

refuse_foreign(numpy.array([1.0]), Spec())      refused: add numpy to allowed_imports
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from muniment.encoding.arrays import array_form
from muniment_plugins.harness.claim import Spec
from muniment_plugins.harness.refusals import HarnessRefused

__all__ = ["packages_of", "refuse_foreign"]

_PLAIN: frozenset[type[object]] = frozenset({bool, float, int, str, type(None), bytes})


def packages_of(data: object) -> set[str]:
    """Return the packages that code needs to receive *data*."""
    if isinstance(data, Mapping):
        members = cast("Mapping[object, object]", data)
        return _of_all([*members.keys(), *members.values()])
    if isinstance(data, list | tuple | set | frozenset):
        return _of_all(cast("Iterable[object]", data))
    form = array_form(data)
    return set() if form is None else {form.package}


def _of_all(items: Iterable[object]) -> set[str]:
    foreign = [one for one in items if type(one) not in _PLAIN]
    return set[str]().union(*map(packages_of, foreign))


def refuse_foreign(data: object, spec: Spec) -> None:
    """Refuse *data* that code under *spec* cannot receive.

    Raises:
        HarnessRefused: it is made of a package that the code may not import.

    """
    allowed = {name.partition(".")[0] for name in spec.allowed_imports}
    missing = ", ".join(sorted(packages_of(data) - allowed))
    if missing:
        raise HarnessRefused(
            f"the data is made of {missing}, which the code may not import",
            rule="harness/data-package",
            place="the data",
            remedy=f"add {missing} to allowed_imports, or give plain lists and dicts",
        )
