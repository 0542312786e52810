"""Runs a command with a stand-in for the model, which always answers the same.

    python stand_in.py muniment run postmortem.json --policy postmortem-policy.json

It speaks chat completions on 127.0.0.1, and ends with the command. To ask a real model, set
OPENAI_API_KEY, and leave out ``python stand_in.py``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["main"]

ANSWERS = {
    "timeline": "Checkout failed from 09:12 to 09:53, for 41 minutes.",
    "cause": "A certificate expired, and nothing had said that it would.",
    "what to do": "Renew certificates a month ahead, and alert a week ahead.",
}
"""A word of the prompt → the answer."""


class _Model(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Answer one question."""
        size = int(self.headers["content-length"])
        asked: dict[str, Any] = json.loads(self.rfile.read(size))
        prompt = str(asked["messages"][0]["content"])
        texts = [text for word, text in ANSWERS.items() if word in prompt]
        text = texts[0] if texts else "No answer."
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {
            "prompt_tokens": size // 4,
            "completion_tokens": len(text) // 4,
            "total_tokens": size // 4 + len(text) // 4,
        }
        told = {"id": "stand-in", "object": "chat.completion", "created": 0}
        told |= {"model": asked["model"], "choices": [choice], "usage": usage}
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing: the command has the screen."""


def _port() -> int:
    """Return the same port for the same folder: a replay compares the address, too."""
    return 20_000 + zlib.crc32(os.fsencode(Path.cwd())) % 10_000


def main() -> int:
    """Run the command of the arguments beside the server; return its exit code."""
    if not sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    server = ThreadingHTTPServer(("127.0.0.1", _port()), _Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    here = {
        "OPENAI_BASE_URL": f"http://127.0.0.1:{server.server_port}/v1",
        "NO_PROXY": "127.0.0.1",
    }
    others = {
        name: text for name, text in os.environ.items() if name != "OPENAI_API_KEY"
    }
    done = subprocess.run(sys.argv[1:], env={**others, **here}, check=False)
    server.shutdown()
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
