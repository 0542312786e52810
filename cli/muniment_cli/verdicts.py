"""What came of a run: printed, and as an exit code.

    0 the program returned, and no verdict of it failed
    1 it raised, or a verdict failed           4 a rule, a plugin or a limit said no

Rules: what is said of a recorded run is read from its events, whoever ran it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from muniment_cli.output import (
    Cell,
    allows_colour,
    fields,
    hint,
    say,
    show_json,
    styled,
)
from muniment_cli.showing import resolved, short, status_style
from muniment_cli.studies import Study, Verdict, show_study, study_of, verdicts_of

if TYPE_CHECKING:
    from muniment.canonical import JsonValue
    from muniment.executing import Done
    from muniment.ledger import Ledger

__all__ = ["Outcome", "dry_outcome", "progress_of_run", "recorded", "show_outcomes"]

_ENDED = ("completed", "dry")
_TICK = 0.2
_UNDECIDED = 3  # what was to be checked could not be


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one run ended."""

    run: str | None
    """None for a dry run, which stands in no ledger."""
    name: str
    status: str
    result: JsonValue = None
    error: str | None = None
    digest: str | None = None
    verdicts: tuple[Verdict, ...] = ()
    study: Study | None = None
    """What came of an experiment; None for every other program."""

    @property
    def refuted(self) -> list[Verdict]:
        """The verdicts that failed."""
        return [one for one in self.verdicts if one.passed is False]

    @property
    def open(self) -> list[Verdict]:
        """The verdicts that could not be reached."""
        return [one for one in self.verdicts if one.passed is None]

    @property
    def levels(self) -> list[str]:
        """How strongly the code was held that the verdicts stand on; each word once."""
        return sorted({one.level for one in self.verdicts if one.level})

    @property
    def reason(self) -> str | None:
        """Why the exit code is not 0."""
        if self.exit_code == 0:
            return None
        if self.refuted and self.error is None:
            return f"refuted: {', '.join(map(str, self.refuted))}"
        if self.exit_code == _UNDECIDED:
            return f"undecided: {', '.join(map(str, self.open))}"
        return self.error or f"the run is {self.status}"

    @property
    def exit_code(self) -> int:
        """What the shell is told."""
        if self.status == "refused":
            return 4
        if self.refuted or self.status not in ("completed", "dry"):
            return 1
        return _UNDECIDED if self.open else 0

    def to_json(self) -> dict[str, JsonValue]:
        """Return the outcome as plain JSON."""
        return {
            "run": self.run,
            "name": self.name,
            "status": self.status,
            "ok": self.exit_code == 0,
            "result": self.result,
            "error": self.error,
            "reason": self.reason,
            "verdicts": {
                "reached": self._reached,
                "failed": len(self.refuted),
                "levels": [*self.levels],
            },
            "hypotheses": [one.to_json() for one in self.verdicts],
            "conditions": [one.to_json() for one in self._study.conditions],
            "failures": [*self._study.failures],
            "result_digest": self.digest,
        }

    @property
    def _reached(self) -> int:
        return sum(one.judged for one in self.verdicts)

    @property
    def _study(self) -> Study:
        return self.study or Study()

    @property
    def summary(self) -> str:
        """Return how many verdicts there are, and on what they stand."""
        held = f"; code held at {', '.join(self.levels)}" if self.levels else ""
        left = len(self.verdicts) - self._reached
        unjudged = f", {left} not judged" if left else ""
        return f"{self._reached} reached, {len(self.refuted)} failed{unjudged}{held}"

    @property
    def colour(self) -> str:
        """Return how the verdicts look: all well, some missing, some failed."""
        missing = self._reached < len(self.verdicts)
        return "red" if self.refuted else "yellow" if missing else "green"


def recorded(ledger: Ledger, run: str, digest: str | None = None) -> Outcome:
    """Return how the recorded *run* ended; *digest* is its result digest, if known."""
    from muniment.records import RunRecord

    record = ledger.project(RunRecord, run=run)
    result: JsonValue = None
    error: str | None = None
    ends = ledger.events(
        run=run, type="run.completed,run.failed", order="desc", limit=1
    )
    for event in ends:
        data = resolved(ledger, event)
        result = data.get("result")
        if event.type == "run.failed":
            error = f"{data.get('error_type')}: {short(data.get('message', ''), 1000)}"
    return Outcome(
        run,
        record.name,
        record.status,
        result,
        error,
        digest,
        verdicts_of(ledger, run),
        study_of(ledger, run),
    )


def dry_outcome(ledger: Ledger, done: Done, name: str) -> Outcome:
    """Return how a dry run ended; that it came to an effect is no failure."""
    from muniment.canonical import canonical, parse
    from muniment.errors import MunimentError
    from muniment.values import encode

    error = done.error
    if error is None:
        value = parse(canonical(encode(done.value, ledger.port.values)))
        return Outcome(None, name, "dry", value, digest=done.result_digest)
    if isinstance(error, MunimentError) and error.rule == "run/dry-end":
        return Outcome(None, name, "dry", error=error.message)
    return Outcome(None, name, done.status, error=f"{type(error).__name__}: {error}")


def show_outcomes(outcomes: list[Outcome], *, as_json: bool) -> int:
    """Print how the runs ended, and return the exit code: the worst of them."""
    if as_json:
        documents = [one.to_json() for one in outcomes]
        show_json(documents[0] if len(documents) == 1 else documents)
    else:
        for position, one in enumerate(outcomes):
            if position:
                say()
            _show(one)
    codes = {one.exit_code for one in outcomes}
    return 1 if 1 in codes else max(codes)


def _show(one: Outcome) -> None:
    pairs: list[tuple[str, Cell]] = [
        ("run", one.run or "(dry, not recorded)"),
        ("name", one.name),
        ("status", status_style(one.status)),
    ]
    if one.error is not None and not (one.study and one.study.failures):
        pairs.append(("ended" if one.status == "dry" else "error", one.error))
    elif one.error is None and one.study is None and one.status in _ENDED:
        pairs.append(("result", short(one.result, 1000)))
    if one.verdicts:
        pairs.append(("verdicts", (one.summary, one.colour)))
    if one.refuted:
        pairs.append(("refuted", (", ".join(map(str, one.refuted)), "bold red")))
    if one.digest is not None:
        pairs.append(("result digest", one.digest))
    fields(pairs)
    show_study(one.study, one.verdicts)
    if one.run is not None:
        word = "show" if one.exit_code == 0 else "explain"
        hint(f"`muniment runs {word} {one.run}` says more")


@contextmanager
def progress_of_run(ledger: Ledger) -> Generator[None]:
    """Show on stderr what is being recorded, where a person looks at it."""
    if not sys.stderr.isatty() or allows_colour() is False:
        yield
        return
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner

    from muniment.errors import MunimentError

    stop = threading.Event()
    start = ledger.head.size
    spinner = Spinner("dots", "running…")
    # What the program prints goes where it went before; on one terminal with the
    # spinner it is printed above it.
    with Live(
        spinner,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    ):

        def watch() -> None:
            seen, last = start, ""
            try:
                while not stop.wait(_TICK):
                    for event in ledger.events(from_seq=seen):
                        seen, last = event.seq + 1, event.type
                    spinner.update(text=styled(f"{seen - start} events  {last}"))
            except MunimentError:
                return  # a display never ends the work that it shows

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            stop.set()
            watcher.join()
