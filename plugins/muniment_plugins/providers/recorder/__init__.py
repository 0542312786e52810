"""Recording programs that know nothing of muniment: every HTTP call is an effect.

    muniment record -- python agent.py          one run, its children's calls included
    muniment replay RUN -- python agent.py      again, answered from the ledger, offline

Rules:

- This process owns the ledger and is its only writer. The program is a child that asks,
  for every call, whether there is an answer already, over a socket that only this user
  may open; the ledger's keys are not in its environment.
- The code in the child (`wire`, `hooks`, `over_*`, ``injected``) uses only the standard
  library: the program's interpreter need not have muniment.
"""

from __future__ import annotations

from muniment_plugins.providers.recorder.program import Killed, RecordedProgram

__all__ = ["Killed", "RecordedProgram"]
