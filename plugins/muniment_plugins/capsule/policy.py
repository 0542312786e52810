"""What a program may import, how long it may run, and how strongly it is isolated.

    Policy(allowed_imports=("math", "numpy"), time_s=5, mem_mb=256)

Rules:

- A listed name allows that module; a package brings its companions, the submodules
  that ordinary programs reach through it (``numpy`` brings ``numpy.linalg``).
- Modules that hand out files, processes, sockets or the interpreter itself, or are not
  known to be harmless, are refused, unless ``allow_dangerous=True``, which is recorded
  with every execution.
- Levels, weakest first: ``none``, ``process`` (language layer and a subprocess with
  limits), ``engine`` (an interpreter that has no system beneath it, and no layer of the
  system around it), ``os-partial`` (a system call filter), ``os-strong`` (Landlock
  too). The floor is the stronger of ``require`` and the environment variable
  ``MUNIMENT_REQUIRE``; a floor out of reach is refused before the code runs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from muniment.errors import RefusedError, UsageError, of_machine
from muniment_plugins.capsule.language.companions import COMPANIONS
from muniment_plugins.capsule.language.harmless_modules import is_dangerous

__all__ = ["LEVELS", "Policy", "floor_of", "refuse_beyond"]

LEVELS = ("none", "process", "engine", "os-partial", "os-strong")

_CLOCKS = ("frozen", "real")
_DAY_S = 86_400
_SYNTAXES = ("narrow", "wide")
_ENGINES = ("monty", "python")
_LOADER_VARIABLES = ("DYLD_", "GCONV_", "LD_", "PYTHON")


@dataclass(frozen=True, slots=True)
class Policy:
    """The bounds of one execution.

    Args:
        time_s: CPU seconds; the wall clock gets one second more.
        mem_mb: Megabytes beyond what interpreter and allowed packages use.
        require: The weakest acceptable level, one of `LEVELS`.
        env: Variables added to the child's own, otherwise fixed environment; they are
            stated with the execution.
        max_output: Bytes of printed text that are kept.
        allow_non_finite: Whether metrics may hold NaN and infinities.
        clock: ``frozen`` shows one instant, 2000-01-01T00:00:00Z, in the modules
            ``time`` and ``datetime``.
        engine: ``monty`` runs programs without packages in another interpreter.
        syntax: ``narrow`` refuses ``global``, ``nonlocal``, ``try`` and ``with``.

    Raises:
        RefusedError: a dangerous import without ``allow_dangerous`` (rule
            ``capsule/dangerous-import``), or a variable that changes what is loaded.
        UsageError: a value that is no valid bound (rule ``capsule/policy``).

    """

    allowed_imports: tuple[str, ...] = ()
    time_s: float = 10.0
    mem_mb: int = 512
    require: str = "none"
    seed: int = 0
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    max_output: int = 64 * 1024
    allow_dangerous: bool = False
    allow_non_finite: bool = False
    clock: str = "real"
    engine: str = "python"
    syntax: str = "wide"

    def __post_init__(self) -> None:
        """Refuse values that would bound nothing."""
        if isinstance(self.allowed_imports, str):
            raise _no_value("allowed_imports", self.allowed_imports, "a list of names")
        object.__setattr__(self, "allowed_imports", tuple(self.allowed_imports))
        object.__setattr__(self, "env", dict(self.env))
        self._check_bounds()
        self._check_imports()
        self._check_environment()

    @property
    def modules(self) -> frozenset[str]:
        """Every module that the program may import, companions included."""
        brought = (COMPANIONS.get(name, frozenset()) for name in self.allowed_imports)
        return frozenset(self.allowed_imports).union(*brought)

    def _check_bounds(self) -> None:
        seconds = _is_number(self.time_s) and 0 < self.time_s <= _DAY_S
        megabytes = type(self.mem_mb) is int and 1 <= self.mem_mb <= 2**20
        seed = type(self.seed) is int and 0 <= self.seed < 2**63
        output = type(self.max_output) is int and self.max_output >= 0
        good = (
            (seconds, "time_s", f"seconds above 0, at most {_DAY_S}"),
            (megabytes, "mem_mb", f"a whole number from 1 to {2**20}"),
            (seed, "seed", "a whole number from 0 to 2**63 - 1"),
            (output, "max_output", "a whole number of bytes from 0"),
            (all(map(_is_variable, self.env.items())), "env", "names and texts"),
            (self.require in LEVELS, "require", f"one of {', '.join(LEVELS)}"),
            (type(self.allow_non_finite) is bool, "allow_non_finite", "a bool"),
            (self.clock in _CLOCKS, "clock", f"one of {', '.join(_CLOCKS)}"),
            (self.engine in _ENGINES, "engine", f"one of {', '.join(_ENGINES)}"),
            (self.syntax in _SYNTAXES, "syntax", f"one of {', '.join(_SYNTAXES)}"),
        )
        for is_good, name, wanted in good:
            if not is_good:
                raise _no_value(name, getattr(self, name), wanted)

    def _check_imports(self) -> None:
        for name in self.allowed_imports:
            if not _is_dotted(name):
                raise UsageError(
                    f"{name!r} is not a module name",
                    rule="capsule/policy",
                    place="Policy.allowed_imports",
                    remedy="list absolute dotted names such as 'sklearn.metrics'",
                )
            if not self.allow_dangerous and is_dangerous(name):
                raise RefusedError(
                    f"the module {name} would open the capsule",
                    rule="capsule/dangerous-import",
                    place="Policy.allowed_imports",
                    remedy="leave it out; Policy(allow_dangerous=True) lets it in, and is "
                    "recorded (experiments have no such key)",
                )

    def _check_environment(self) -> None:
        for name in self.env:
            if name.startswith(_LOADER_VARIABLES):
                raise RefusedError(
                    f"the variable {name} would change what the child loads",
                    rule="capsule/environment",
                    place="Policy.env",
                    remedy="leave it out",
                )


def floor_of(policy: Policy) -> str:
    """Return the weakest level at which a program of *policy* may run here.

    Raises:
        UsageError: ``MUNIMENT_REQUIRE`` names no level.

    """
    inherited = os.environ.get("MUNIMENT_REQUIRE", "none")
    if inherited not in LEVELS:
        wrong = UsageError(
            f"{inherited!r} is not an isolation level",
            rule="capsule/level",
            place="MUNIMENT_REQUIRE",
            remedy=f"use one of {', '.join(LEVELS)}",
        )
        raise of_machine(wrong)
    # Even without a floor, nothing runs on the language layer alone.
    return max(policy.require, inherited, "process", key=LEVELS.index)


def refuse_beyond(policy: Policy, reachable: str) -> None:
    """Refuse before anything runs if the floor is above the *reachable* level.

    Raises:
        RefusedError: rule ``capsule/level``.

    """
    floor = floor_of(policy)
    if LEVELS.index(floor) > LEVELS.index(reachable):
        beyond = RefusedError(
            f"{floor} isolation is required, this capsule gives {reachable}",
            rule="capsule/level",
            place="Policy.require" if floor == policy.require else "MUNIMENT_REQUIRE",
            remedy="run it in a container or virtual machine, or lower the floor",
        )
        raise of_machine(beyond)


def _no_value(name: str, given: object, wanted: str) -> UsageError:
    """Return the refusal of the value *given* for the bound *name*."""
    return UsageError(
        f"{given!r} is not a value for {name}",
        rule="capsule/policy",
        place=f"Policy.{name}",
        remedy=f"give {wanted}",
    )


def _is_dotted(name: object) -> bool:
    return isinstance(name, str) and all(map(str.isidentifier, name.split(".")))


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]


def _is_variable(pair: tuple[object, object]) -> bool:
    """Tell whether the system accepts this name and value in an environment."""
    name, value = pair
    if not (isinstance(name, str) and isinstance(value, str)):
        return False
    try:
        encoded = (name + value).encode()
    except UnicodeEncodeError:
        return False
    return name != "" and "=" not in name and b"\0" not in encoded
