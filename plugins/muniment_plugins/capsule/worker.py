"""The child: takes one request, confines itself, runs one program, answers, ends.

    python -s -S -P worker.py 3 KERNEL      request on descriptor 0, answers on 3

Rules, in this order:

1. Load the allowed packages that the program names, and its data.
2. Seed every generator, set the limits, state them in the first frame.
3. Wait until the parent has checked them and says go; close the request's pipe.
4. Run the program with guarded names; write metrics or error in the second frame.

What a program can do wrong ends in a frame or in the death of this process, never in
the parent. Started as a file, by its own interpreter: nothing of the caller's
``__main__`` is imported here. This file is compiled at each start, so it only makes
the packages known by their place, without running their ``__init__``.
"""

from __future__ import annotations

import os
import sys


def _know(name: str, place: str) -> None:
    package = type(sys)(name)
    package.__path__ = [place]
    sys.modules[name] = package


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is slow
    _know("muniment", sys.argv[2])
    _know("muniment_plugins", os.path.dirname(here))  # noqa: PTH120 - pathlib is slow
    _know("muniment_plugins.capsule", here)
    from muniment_plugins.capsule.program import serve

    serve(int(sys.argv[1]))
