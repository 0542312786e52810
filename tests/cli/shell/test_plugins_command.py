"""``muniment plugins``: who is in, what each may, and what is wrong with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from muniment_cli.diagnosis.plugin_probe import probe_apart

DECLARES = """
from muniment import EffectKind, EventType, PlainData, hookimpl
class Data(PlainData):
    text: str
"""
BROKEN = {
    "taking": f"{DECLARES}"
    "@hookimpl\ndef event_types(): return [EventType('note.added', Data)]\n",
    "kernelly": f"{DECLARES}@hookimpl\ndef effect_kinds(): return [EffectKind('llm')]\n",
    "alone": f"{DECLARES}"
    "@hookimpl\ndef event_types(): return EventType('alone.done', Data)\n",
    "single": f"{DECLARES}@hookimpl\ndef effect_kinds(): return EffectKind('single')\n",
    "capital": f"{DECLARES}"
    "@hookimpl\ndef event_types(): return [EventType('Capital', Data)]\n",
    "wavering": f"{DECLARES}"
    "@hookimpl\ndef effect_kinds(): return [EffectKind('dose', on_doubt='aks')]\n",
    "raising": "raise ValueError('oh')\n",
    "leaving": "import os\nos._exit(3)\n",
    "noisy": "print('{}')\n",
    "unhooked": "from muniment import hookimpl\n@hookimpl\ndef nope(): pass\n",
    "mistyped": "from muniment import hookimpl\n"
    "@hookimpl\ndef event_types(): return [1]\n",
    "failing": "from muniment import hookimpl\n"
    "@hookimpl\ndef effect_kinds(): raise KeyError('x')\n",
    "misnamed": "from muniment import hookimpl\n"
    "@hookimpl\ndef after_append(thing): pass\n",
}
SAID = {
    "taking": "event_types: the event type note.added is registered already, by "
    "muniment itself [event/type-twice]",
    "kernelly": "effect_kinds: the event type llm.requested is registered already",
    "alone": "event_types: it returned one EventType, not a list",
    "single": "effect_kinds: it returned one EffectKind, not a list",
    "capital": "event_types: 'Capital' is not an event type's name",
    "wavering": "effect_kinds: EffectKind: on_doubt is 'aks' in 'dose'",
    "raising": "ValueError: oh",
    "leaving": "ends the process, with code 3",
    "noisy": "takes no hook",
    "unhooked": "nope",
    "mistyped": "1 is not an EventType",
    "failing": "effect_kinds: KeyError",
    "misnamed": "thing",
}


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Install a plugin of a given text on a path of its own."""

    def install(name: str, text: str) -> None:
        site = tmp_path / "site"
        about = site / f"{name}-2.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n"
        )
        module = f"stranger_{name}"
        (about / "entry_points.txt").write_text(f"[muniment]\n{name} = {module}\n")
        (site / f"{module}.py").write_text(text)
        monkeypatch.setenv("PYTHONPATH", str(site))
        monkeypatch.setattr(sys, "path", [*sys.path, str(site)])

    return install


def test_plugins_are_listed_with_their_hooks(shell: Any) -> None:
    """Name, version, state and hooks, for people and for machines."""
    listed = {one["name"]: one for one in shell("plugins", "--json").json}
    assert listed["capsule"]["loads"] is True
    assert "execute_code" in listed["capsule"]["hooks"]
    out = shell("plugins").out
    assert "capsule" in out
    assert "execute_code" in out


def test_what_is_not_allowed_is_not_loaded(
    shell: Any, stranger: Any, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plugin outside the allow-list is listed, and its code never runs."""
    stranger("outside", f"open({str(work / 'ran')!r}, 'w').close()\n")
    monkeypatch.setenv("MUNIMENT_PLUGINS", "capsule")
    listed = {one["name"]: one for one in shell("plugins", "--json").json}
    assert listed["outside"]["allowed"] is False
    assert listed["outside"]["loads"] is None
    assert shell("plugins", "check").code == 0
    assert not (work / "ran").exists()


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_what_is_wrong_is_said(shell: Any, stranger: Any, name: str) -> None:
    """A broken plugin is named with its fault; the others are not harmed."""
    stranger(name, BROKEN[name])
    done = shell("plugins", "check", name)
    assert done.code == 1
    assert f"{name} 2.0: broken" in done.out
    assert SAID[name] in done.out
    listed = {one["name"]: one for one in shell("plugins", "list", "--json").json}
    assert listed["capsule"]["loads"] is True
    assert listed[name]["loads"] is False


def test_two_that_clash_are_told(shell: Any, stranger: Any) -> None:
    """Each may be sound alone; `check` of either and `doctor` name both of them."""
    text = "from muniment import EffectKind, hookimpl\n"
    text += "@hookimpl\ndef effect_kinds(): return [EffectKind('dose')]\n"
    stranger("first", text)
    assert shell("plugins", "check", "first").code == 0
    stranger("other", text)
    for name, with_ in (("first", "other"), ("other", "first")):
        checked = shell("plugins", "check", name)
        assert checked.code == 1
        assert f"plugin {with_} ({with_} 2.0) declares the same" in checked.out
        assert "dose.requested" in checked.out
        assert "[event/type-twice]" in checked.out
    assert shell("plugins", "check", "capsule").code == 0
    done = shell("doctor", "--json")
    assert done.code == 1
    (bad,) = (one for one in done.json if one["verdict"] == "bad")
    assert bad["seen"].startswith("plugin ")
    assert "dose.requested is registered already, by plugin " in bad["seen"]


def test_a_sound_plugin_passes(shell: Any, stranger: Any) -> None:
    """One that takes a hook as it is specified has nothing to repair."""
    text = "from muniment import hookimpl\n"
    stranger("sound", f"{text}@hookimpl\ndef after_append(event): pass\n")
    done = shell("plugins", "check", "sound", "--json")
    assert done.code == 0
    assert done.json[0]["hooks"] == ["after_append"]
    assert probe_apart("sound")["faults"] == []


def test_an_unknown_name_is_a_usage_error(shell: Any) -> None:
    """The message says which plugins there are."""
    done = shell("plugins", "check", "nobody")
    assert done.code == 2
    assert "capsule" in done.err
