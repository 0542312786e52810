"""Programs that the language layer neither reads nor guards: the system alone holds them.

run("return {'pid': os.getpid()}", Unread(POLICY)).metrics
"""

from __future__ import annotations

from attack_modes import guardless
from muniment_plugins.capsule import Capsule, Execution, Policy
from muniment_plugins.capsule.validation import Validated

__all__ = ["MODULES", "POLICY", "Unread", "run"]

MODULES = ("ctypes", "os", "resource", "signal", "socket", "time")
POLICY = Policy(allowed_imports=MODULES, allow_dangerous=True)


class Unread(Capsule):
    """A capsule that runs what it has not read."""

    def validate(self, code: str, entrypoint: str = "fit_and_eval") -> Validated:
        """Accept anything."""
        return Validated(code, entrypoint, MODULES)


def run(body: str, capsule: Capsule) -> Execution:
    """Run a function with this body in *capsule*."""
    heads = f"import {', '.join(MODULES)}\n"
    indented = body.rstrip("\n").replace("\n", "\n    ")
    code = f"{heads}\ndef fit_and_eval(data):\n    {indented}\n    return {{}}"
    with guardless():
        return capsule.run(code, None)
