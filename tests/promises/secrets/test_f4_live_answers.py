"""A live program gets the answer that came, byte for byte; what is written has no secret.

Names that a user keeps or hides are recorded with the run, and counted in its replay.
"""

from __future__ import annotations

import json

import pytest

from recording import PYTHON, Desk

QUOTED = "the-database-password-9"

ASKS = """
import os, sys, httpx
said = [{"role": "user", "content": sys.argv[1] + " " + os.environ["DB_PASSWORD"]}]
body = {"model": "m-1", "messages": said, "stream": len(sys.argv) > 2}
done = httpx.post(os.environ["BASE"] + "/v1/chat/completions", json=body)
print(os.environ["DB_PASSWORD"] in done.text, "group by customer_id" in done.text)
print(done.status_code, len(done.content) > 40)
"""


@pytest.mark.parametrize("streams", [(), ("stream",)])
def test_a_model_that_quotes_a_secret(desk: Desk, streams: tuple[str, ...]) -> None:
    """A model's answer reaches the program as it came, and the ledger without secrets."""
    desk.write("agent.py", ASKS)
    desk.variables |= {"DB_PASSWORD": QUOTED, "PARTITION_KEY": "customer_id"}
    command = (PYTHON, "agent.py", "group by customer_id", *streams)
    done = desk.record(*command)
    seen = "True True" if not streams else done.out.splitlines()[0]
    assert done.out == f"{seen}\n200 True\n", done.err
    assert QUOTED.encode() not in desk.bytes_of_ledger()
    assert b"group by customer_id" in desk.bytes_of_ledger()
    again = desk.replay(done.run, *command)
    assert json.loads(again.out)["verdict"] == "acceptable", again.out


SENDS = """
import os, httpx
body = {"signingKey": "kept-%(key)s", "ssn": "hidden-987654", "page": 1}
done = httpx.post(os.environ["BASE"] + "/echo?ssn=hidden-987654", json=body)
print(done.status_code, done.json()["body"]["signingKey"])
"""


def test_a_user_keeps_and_hides_names(desk: Desk) -> None:
    """`--keep` and `--redact` are recorded with the run: its replay needs no repetition."""
    desk.write("agent.py", SENDS % {"key": "value"})
    command = (PYTHON, "agent.py", "--ssn", "hidden-987654", "--db-key", "kept-value")
    names = ("--keep", "signing_key", "--keep", "db-key", "--redact", "SSN")
    done = desk.muniment("record", *names, "--", *command)
    assert done.out == "200 kept-value\n", done.err
    written = desk.bytes_of_ledger()
    assert b"hidden-987654" not in written
    assert b"kept-value" in written
    (started,) = desk.data(done.run, "run.started")
    assert started["params"]["command"][2:] == [
        *("--ssn", "[redacted]", "--db-key", "kept-value")
    ]
    again = desk.replay(done.run, *command)
    assert json.loads(again.out)["verdict"] == "acceptable", again.out
    desk.write("agent.py", SENDS % {"key": "other"})
    other = desk.replay(done.run, *command)
    assert other.code != 0
    assert "kept-other" in other.out


def test_names_are_kept_and_hidden_by_clients(desk: Desk) -> None:
    """A client in the program's own process takes the same two lists."""
    import muniment  # noqa: PLC0415 - beside the command line
    from muniment.replays.replay import replay  # noqa: PLC0415
    from muniment_plugins.providers import http_client  # noqa: PLC0415

    url = f"{desk.server.url}/echo"

    def program(run: muniment.Run) -> str:
        with http_client(run, keep=["signing_key"], redact=["ssn"]) as client:
            body = {"signingKey": "kept-value", "ssn": "hidden-987654"}
            return str(client.post(url, json=body).json()["body"]["signingKey"])

    with muniment.open(desk.ledger) as ledger:
        done = ledger.execute(program)
        assert done.result == "kept-value"
        assert replay(ledger, done.run_id, program).verdict == "acceptable"
    assert b"hidden-987654" not in desk.bytes_of_ledger()


@pytest.mark.parametrize("form", ["{} {}", "{}={}"])
def test_command_lines_hold_no_secret(desk: Desk, form: str) -> None:
    """The values of secret options are hidden, by the real command line."""
    desk.write("agent.py", "import sys; print(len(sys.argv))")
    pairs = {"--auth": "short-1", "--openai-key": "another-1", "--db-password": "p-w-1"}
    words = " ".join(form.format(*pair) for pair in pairs.items()).split()
    done = desk.record(PYTHON, "agent.py", *words, "--sort-key", "created_at")
    assert done.code == 0, done.err
    written = desk.bytes_of_ledger()
    assert not [value for value in pairs.values() if value.encode() in written]
    assert b"created_at" in written


def test_places_are_no_secrets(desk: Desk) -> None:
    """What a variable says of where something lies is recorded, unless a user hides it.

    ``PWD`` has the name of a password, and ``SIGNING_KEY`` may be the path of one.
    """
    desk.write("agent.py", "print('heard')")
    desk.write("signing-key.pem", "no key")
    key = str(desk.place / "signing-key.pem")
    gone = str(desk.place / "no-longer-there")
    told = "/not/a/path/but-a-secret"
    desk.variables |= {"PWD": str(desk.place), "OLDPWD": gone, "SIGNING_KEY": key}
    desk.variables |= {"SERVICE_TOKEN": told}
    command = (PYTHON, "agent.py", key, gone, told)
    done = desk.record(*command)
    (started,) = desk.data(done.run, "run.started")
    assert started["params"]["command"] == [*command[:-1], "[redacted]"]
    hidden = desk.muniment("record", "--redact", "SIGNING_KEY", "--", *command)
    (started,) = desk.data(hidden.run, "run.started")
    assert started["params"]["command"][2] == "[redacted]"
