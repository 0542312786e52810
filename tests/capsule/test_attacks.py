"""Every attack shows without a capsule, and with it exactly what is listed here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from attack_modes import Tries
from corpus import FAMILIES, HOST, attacks, by_family
from expected import IN_SPITE_OF_THE_LANGUAGE, IN_SPITE_OF_THE_SYSTEM
from machines import NAMESPACES, NOBODY, reachable_python, run_python, strong, without
from muniment_plugins.capsule.machine import machine

ROOT = Path(__file__).parents[2]
NAMES = list(attacks())

linux = pytest.mark.skipif(sys.platform != "linux", reason="sees effects in /proc")


@pytest.fixture(scope="module")
def tries() -> Iterator[Tries]:
    """Open one theatre for all trials."""
    machine()
    with Tries() as opened:
        yield opened


def test_the_corpus_is_large_and_sorted() -> None:
    """Every family has its attacks, and nothing lies outside of a family."""
    found = by_family()
    assert {attack.family for attack in attacks().values()} == set(FAMILIES)
    assert min(len(family) for family in found.values()) >= 5
    assert sum(len(family) for family in found.values()) == len(NAMES) >= 250


@linux
@pytest.mark.parametrize("name", NAMES)
def test_without_a_capsule_it_has_its_effect(name: str, tries: Tries) -> None:
    """An attempt that a plain interpreter does not feel would prove nothing."""
    attack = attacks()[name]
    if not attack.fits:
        pytest.skip("this machine has not what it needs")
    assert attack.wants in tries.effects(attack, "no capsule")


@strong
@pytest.mark.parametrize("name", NAMES)
def test_in_a_capsule_it_has_none(name: str, tries: Tries) -> None:
    """With every layer, no effect of any kind shows."""
    assert tries.effects(attacks()[name], "all layers") == set()


@strong
@pytest.mark.parametrize("name", NAMES)
def test_the_system_holds_alone(name: str, tries: Tries) -> None:
    """Without validator and guard, nothing reaches the machine beyond metadata."""
    shown = tries.effects(attacks()[name], "OS only")
    assert shown == in_spite_of_the_system(machine().probe["stat"]).get(name, set())


@linux
@pytest.mark.parametrize("name", NAMES)
def test_what_the_language_layer_lets_through_is_known(name: str, tries: Tries) -> None:
    """Without walls, what still succeeds is exactly what is listed."""
    shown = tries.effects(attacks()[name], "language only")
    assert shown == IN_SPITE_OF_THE_LANGUAGE.get(name, set())


def test_what_is_listed_touches_no_machine_behind_walls() -> None:
    """The list of what the system lets through holds nothing of the host's."""
    assert set().union(*IN_SPITE_OF_THE_SYSTEM.values()) & HOST == set()
    assert {*IN_SPITE_OF_THE_SYSTEM, *IN_SPITE_OF_THE_LANGUAGE} <= set(NAMES)


AT_THE_GUARD = {
    *("channels", "cross_run_leaks", "forged_ends", "forged_results"),
    "guard_tampering",
}
GUARDED = [
    name
    for name, attack in attacks().items()
    if attack.family in AT_THE_GUARD or name in IN_SPITE_OF_THE_SYSTEM
]
"""What meets all layers elsewhere: what is aimed at the guard, and what it alone holds."""

REPORT = f"""
import json, attack_modes
from muniment_plugins.capsule.machine import machine
found = attack_modes.report(guarded={GUARDED!r})
print(json.dumps([found, machine().probe["stat"]]))
"""


def in_spite_of_the_system(stat: object) -> dict[str, set[str]]:
    """Return what shows behind walls, which may hide the files of the machine too."""
    if stat == "allowed":
        return IN_SPITE_OF_THE_SYSTEM
    hidden = {
        name: seen - {"metadata"} for name, seen in IN_SPITE_OF_THE_SYSTEM.items()
    }
    return {name: seen for name, seen in hidden.items() if seen}


def check(found: dict[str, dict[str, list[str]]], stat: object) -> None:
    """Compare what another machine reported with what is expected of any."""
    through = {name: seen for name, seen in found["all layers"].items() if seen}
    system = {name: set(seen) for name, seen in found["OS only"].items() if seen}
    assert through == {}
    assert system == in_spite_of_the_system(stat)


@strong
@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="only root may become someone else")
def test_an_ordinary_user_gets_the_same() -> None:
    """Nothing of what holds the programs needs root."""
    python = reachable_python()
    groups = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    check(*run_python(REPORT, python=python, **groups))


@strong
@pytest.mark.slow
def test_a_machine_without_user_namespaces_gives_the_same() -> None:
    """Containers and hardened systems deny them; nothing changes."""
    check(*without(NAMESPACES, REPORT))


def test_the_documented_counts_are_those_of_the_tests() -> None:
    """The table in the reference counts what the lists name, and every program."""
    script = [sys.executable, str(ROOT / "tools" / "attacks.py"), "--check"]
    assert subprocess.run(script, check=False).returncode == 0
