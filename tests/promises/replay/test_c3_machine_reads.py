"""What only asks about the machine makes no honest replay unacceptable."""

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

OPENAI = """
def main(run, url):
    import openai
    from muniment_plugins.providers import http_client

    with http_client(run) as http:
        client = openai.OpenAI(api_key=KEY, base_url=url + "/v1", http_client=http)
        asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        return client.chat.completions.create(**asked).choices[0].message.content
"""
ANTHROPIC = """
def main(run, url):
    import anthropic
    from muniment_plugins.providers import http_client

    with http_client(run) as http:
        client = anthropic.Anthropic(api_key=KEY, base_url=url, http_client=http)
        asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        return client.messages.create(**asked, max_tokens=9).content[0].text
"""
MISTRAL = """
def main(run, url):
    import mistralai
    from muniment_plugins.providers import http_client

    made = getattr(mistralai, "Mistral", None)
    if made is None:
        from mistralai.client import Mistral as made
    with http_client(run) as http:
        client = made(api_key=KEY, server_url=url, client=http)
        asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        return client.chat.complete(**asked).choices[0].message.content
"""
GOOGLE = """
import httpx2

TOLD = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi."}]}}]}


def answer(request):
    return httpx2.Response(200, json=TOLD)


def main(run, url):
    from google import genai
    from muniment_plugins.providers import http_client

    with http_client(run, transport=httpx2.MockTransport(answer)) as http:
        options = genai.types.HttpOptions(httpx_client=http)
        models = genai.Client(api_key=KEY, http_options=options).models
        return models.generate_content(model="m", contents="hi").text
"""
PLATFORM = """
import os, time


def main(run, url):
    import ctypes.util, getpass, locale, mimetypes, multiprocessing, platform, sysconfig
    import socket, tempfile, uuid, zoneinfo
    from pathlib import Path

    ctypes.util.find_library("c")
    tempfile.gettempdir()
    names = ("machine", "node", "platform", "processor", "release", "system", "version")
    return {
        **{name: getattr(platform, name)() for name in names},
        "architecture": platform.architecture()[0],
        "libc": list(platform.libc_ver()),
        "cpus": [os.cpu_count(), multiprocessing.cpu_count(), os.sysconf("SC_PAGESIZE")],
        "affinity": len(os.sched_getaffinity(0)),
        "locale": [locale.getpreferredencoding(False), str(locale.getlocale())],
        "release file": Path("/etc/os-release").is_file()
        and platform.freedesktop_os_release()["ID"],
        "zone": [time.tzname[0], str(zoneinfo.ZoneInfo("UTC"))],
        "zones": len(zoneinfo.available_timezones()) > 0,
        "user": getpass.getuser(),
        "host": socket.gethostname(),
        "mime": mimetypes.guess_type("a.json")[0],
        "prefix": sysconfig.get_path("purelib"),
        "entropy": len(os.urandom(4)),
    }
"""
LIBRARIES = """
def main(run, url):
    import numpy, pandas, requests, urllib3

    frame = pandas.DataFrame({"a": [1, 2, 3]})
    return [int(frame["a"].sum()), float(numpy.linalg.det(numpy.eye(40)))]
"""
PROGRAMS = {
    "openai": OPENAI,
    "anthropic": ANTHROPIC,
    "mistral": MISTRAL,
    "google": GOOGLE,
    "platform": PLATFORM,
    "libraries": LIBRARIES,
}
IN_PROCESS = """
import sys, muniment, program
ledger = muniment.open()
report = muniment.replay(ledger, sys.argv[1], program.main)
print(report)
sys.exit(report.exit_code)
"""


def shell(work: Path, *line: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return subprocess.run(
        line, cwd=work, env=os.environ, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_fresh_process_replays_it(tmp_path: Path, name: str) -> None:
    """Recorded and replayed in fresh processes, by command and in Python: acceptable."""
    work = tmp_path / "work"
    work.mkdir()
    key = 'KEY = "sk-of-nobody-at-all-0000"\n'
    (work / "program.py").write_text(key + PROGRAMS[name])
    begin(work)
    with ModelServer() as server:
        url = f"url={server.url}"
        ran = shell(work, MUNIMENT, "run", "program.py", "-p", url, "--json")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    run = json.loads(ran.stdout)["run"]
    again = shell(work, MUNIMENT, "replay", run, "--json", "--no-record")
    assert again.returncode == 0, again.stdout + again.stderr
    assert json.loads(again.stdout)["verdict"] == "acceptable"
    alone = shell(work, sys.executable, "-c", IN_PROCESS, run)
    assert alone.returncode == 0, alone.stdout + alone.stderr
