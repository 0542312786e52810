"""Makes the program that a page with its evidence carries, by esbuild from npm.

    python tools/page_program.py           writes page_program.mjs
    python tools/page_program.py --check   says whether it is out of date, exit 1
    python tools/page_program.py --print   prints it

Rule: the same sources give the same bytes; the first line names their SHA-256, so that
whoever has no npm can tell whether it is out of date.
"""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from muniment_plugins.evidence.javascript import in_page, page_source

__all__ = ["ESBUILD", "TARGET", "first_line", "made"]

ESBUILD = "0.28.2"
TARGET = (
    Path(__file__).parents[1]
    / "plugins/muniment_plugins/evidence/javascript/page_program.mjs"
)
_OPTIONS = (
    *("--minify", "--format=esm", "--target=es2022"),
    *("--charset=utf8", "--legal-comments=none"),
)


def first_line() -> str:
    """Return the line that says what the program is made of."""
    digest = sha256(page_source().encode()).hexdigest()
    return f"// esbuild {ESBUILD} made this of verify_evidence.mjs and page_check.mjs: {digest}\n"


def made() -> str:
    """Return the program.

    Raises:
        OSError: there is no npm.
        subprocess.CalledProcessError: it cannot fetch esbuild.

    """
    with TemporaryDirectory() as folder:
        wanted = f"esbuild@{ESBUILD}"
        install = ["npm", "install", "--silent", "--no-audit", "--no-fund", wanted]
        subprocess.run(install, cwd=folder, check=True, capture_output=True)  # noqa: S603 - fixed words
        program = Path(folder) / "node_modules" / ".bin" / "esbuild"
        line = [str(program), "--loader=js", *_OPTIONS]
        told = page_source().encode()
        done = subprocess.run(line, input=told, check=True, capture_output=True)  # noqa: S603 - the program just fetched
    return first_line() + done.stdout.decode()


def main() -> int:
    """Write the program, or say that it is out of date."""
    if "--check" in sys.argv:
        if in_page().startswith(first_line()):
            return 0
        print("page_program.mjs is out of date: python tools/page_program.py")
        return 1
    if "--print" in sys.argv:
        sys.stdout.write(made())
        return 0
    TARGET.write_text(made(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
