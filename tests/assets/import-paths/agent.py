"""A program that knows nothing of muniment: it asks a model twice, and may be killed."""

import json
import os
import signal
import urllib.request


def ask(text: str) -> str:
    """Ask, and return what was said."""
    url = os.environ["BASE"] + "/v1/chat/completions"
    body = {"model": "m-1", "messages": [{"role": "user", "content": text}]}
    sort = {"content-type": "application/json"}
    asked = urllib.request.Request(url, json.dumps(body).encode(), sort)  # noqa: S310 - a server on this machine
    with urllib.request.urlopen(asked) as told:  # noqa: S310
        return str(json.load(told)["choices"][0]["message"]["content"])


print(ask("hello"))
print(ask("and again"), flush=True)
if os.environ.get("CUT"):
    os.kill(os.getpid(), signal.SIGTERM)
