"""The standalone verifier as one file, loaded as its receivers run it."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from muniment_plugins.evidence.standalone.one_file import one_file

__all__ = ["exit_code_of", "program"]


@cache
def program() -> Any:
    """Return the program as a module that shares nothing with muniment."""
    module = sys.modules["verify_evidence"] = ModuleType("verify_evidence")
    exec(compile(one_file(), "verify_evidence.py", "exec"), module.__dict__)  # noqa: S102 - the file that is shipped
    return module


def exit_code_of(bundle: Path, root: str) -> tuple[int, str]:
    """Return the exit code of the program, and what it says."""
    module = program()
    try:
        return 0, module.verify(bundle, root)
    except module.Refused as error:
        return 1, str(error)
    except module.Unchecked as error:
        return 3, str(error)
