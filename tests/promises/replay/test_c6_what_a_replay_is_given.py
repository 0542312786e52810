"""A replayed program is given what Python needs here, and no key of whoever replays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from first_hour import begin
from model_server import ModelServer

MUNIMENT = str(Path(sys.executable).with_name("muniment"))
OWN = {"OF_MY_OWN": "m-1"}
UNSEEN = (
    *(
        "OPENAI_API_KEY",
        "GH_PAT",
        "DATABASE_URL",
        "MUNIMENT_KEY",
        "MUNIMENT_PASSPHRASE",
    ),
    "PYTHON_REGISTRY_TOKEN",
)


def shell(work: Path, *line: str, **also: str) -> subprocess.CompletedProcess[str]:
    """Type a command line with these variables *also* set."""
    kept = {k: v for k, v in os.environ.items() if k not in OWN}
    done = subprocess.run(
        [MUNIMENT, *line],
        cwd=work,
        env={**kept, **also},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def recorded(work: Path, text: str, **also: str) -> str:
    """Record the program *text* where these variables are set, and return the run."""
    (work / "program.py").write_text(text)
    begin(work)
    ran = shell(work, "run", "program.py", "--json", **also)
    assert ran.returncode == 0, ran.stderr
    return str(json.loads(ran.stdout)["run"])


def test_no_key_of_the_auditor_is_seen(tmp_path: Path) -> None:
    """Neither in the variables nor in what the system says of the process."""
    text = f"""
import os, pathlib

def main(run):
    try:
        told = pathlib.Path("/proc/self/environ").read_text()
    except OSError:
        told = ""
    return [name for name in {UNSEEN!r} if name in {{*os.environ}} or name in told]
"""
    run = recorded(tmp_path, text)
    keys = {name: "of-the-auditor" for name in UNSEEN if name != "MUNIMENT_KEY"}
    for more in ((), ("--program", "program.py:main"), ("--trust-program",)):
        done = shell(tmp_path, "replay", run, *more, **keys)
        assert done.returncode == 0, done.stdout + done.stderr
    for name in ("MUNIMENT_KEY=x", "MUNIMENT_PASSPHRASE"):
        done = shell(tmp_path, "replay", run, "--env", name, **keys)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["HOME", "PATH", "TZ", "LANG", "LC_ALL", "PYTHONPATH"])
def test_what_says_where_it_runs_is_given(tmp_path: Path, name: str) -> None:
    """A program that returns where it ran, or in which language, is replayed."""
    text = f"import os\n\ndef main(run):\n    return os.environ[{name!r}]\n"
    also = {"TZ": "UTC", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PYTHONPATH": "/x"}
    also |= {"HOME": str(tmp_path)}
    run = recorded(tmp_path, text, **also)
    done = shell(tmp_path, "replay", run, **also)
    assert done.returncode == 0, done.stdout + done.stderr


READS = {
    "in the program": "import os\n\ndef main(run):\n    return os.environ['OF_MY_OWN']\n",
    "with a default": (
        "import os\n\ndef main(run):\n    return os.environ.get('OF_MY_OWN', 'm-0')\n"
    ),
    "by getenv": "import os\n\ndef main(run):\n    return os.getenv('OF_MY_OWN')\n",
    "in it": "import os\n\ndef main(run):\n    return 'OF_MY_OWN' in os.environ\n",
    "while imported": (
        "import os\nMODEL = os.environ.get('OF_MY_OWN', 'm-0')\n"
        "\ndef main(run):\n    return MODEL\n"
    ),
    "while imported, or fails": (
        "import os\nMODEL = os.environ['OF_MY_OWN']\n\ndef main(run):\n    return MODEL\n"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("read", READS)
def test_a_variable_of_its_own(tmp_path: Path, read: str) -> None:
    """Without it that cannot be told, and the option is named; with it, acceptable."""
    run = recorded(tmp_path, READS[read], **OWN)
    for named in ((), ("--program", "program.py:main")):
        done = shell(tmp_path, "replay", run, *named, **OWN)
        assert done.returncode == 3, done.stdout + done.stderr
        assert "[replay/denied]" in done.stderr
        assert "--env OF_MY_OWN" in done.stderr
        done = shell(tmp_path, "replay", run, *named, "--env", "OF_MY_OWN", **OWN)
        assert done.returncode == 0, done.stdout + done.stderr
        done = shell(tmp_path, "replay", run, *named, "--env", "OF_MY_OWN=m-1")
        assert done.returncode == 0, done.stdout + done.stderr


def test_what_it_looked_for_and_did_not_need(tmp_path: Path) -> None:
    """A program that ends as recorded is acceptable, whatever it looked for."""
    text = (
        "import os\n\ndef main(run):\n    os.environ.get('OF_MY_OWN')\n    return 1\n"
    )
    run = recorded(tmp_path, text, **OWN)
    assert shell(tmp_path, "replay", run, **OWN).returncode == 0


def test_what_nobody_withheld_is_no_excuse(tmp_path: Path) -> None:
    """A variable that is not set here was kept from nobody: a difference is one."""
    run = recorded(tmp_path, READS["with a default"], **OWN)
    assert shell(tmp_path, "replay", run).returncode == 1


def test_a_recorded_command_keeps_its_variables(tmp_path: Path) -> None:
    """What was typed again after `--` is the user's own: its variables are there."""
    begin(tmp_path)
    (tmp_path / "agent.py").write_text("import os\nassert os.environ['OF_MY_OWN']\n")
    line = ("--", sys.executable, "agent.py")
    assert shell(tmp_path, "record", *line, **OWN).returncode == 0
    run = json.loads(shell(tmp_path, "runs", "--json").stdout)[0]["id"]
    assert shell(tmp_path, "replay", run, *line, **OWN).returncode == 0


SDK = """
import openai
from muniment_plugins.providers import http_client


def main(run, url):
    with http_client(run) as http:
        client = openai.OpenAI(base_url=url + "/v1", http_client=http)
        asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        return client.chat.completions.create(**asked).choices[0].message.content
"""


def test_an_sdk_is_content_with_any_key(tmp_path: Path) -> None:
    """One that takes its key from a variable says that it lacks it; none is sent."""
    (tmp_path / "program.py").write_text(SDK)
    begin(tmp_path)
    key = {"OPENAI_API_KEY": "sk-of-nobody-at-all-0000"}
    with ModelServer() as server:
        line = ("run", "program.py", "-p", f"url={server.url}", "--json")
        ran = shell(tmp_path, *line, **key)
    assert ran.returncode == 0, ran.stderr
    run = json.loads(ran.stdout)["run"]
    done = shell(tmp_path, "replay", run, **key)
    assert (done.returncode, "--env OPENAI_API_KEY" in done.stderr) == (3, True)
    done = shell(tmp_path, "replay", run, "--env", "OPENAI_API_KEY=none", **key)
    assert done.returncode == 0, done.stdout + done.stderr
