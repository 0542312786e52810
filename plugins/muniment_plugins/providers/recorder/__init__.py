"""Programs that know nothing of muniment, recorded: every HTTP call is an effect.

    muniment record -- python agent.py          one run, its children's calls included
    muniment replay RUN -- python agent.py      again, answered from the ledger, offline

Rules:

- This process owns the ledger and is its only writer. The program is a child that asks
  for every call whether it is answered already, over a socket that only this user may
  open; keys of the ledger are not in its environment.
- What stands in the child (`wire`, `hooks`, `over_*`, ``injected``) is the standard
  library's Python alone: the program's interpreter need not know muniment.
"""

from __future__ import annotations

from muniment_plugins.providers.recorder.program import Killed, RecordedProgram

__all__ = ["Killed", "RecordedProgram"]
