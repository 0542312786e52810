"""Texts of programs that know nothing of muniment, as people write them, run as files.

    PROGRAMS["requests"]    posts with `requests`, prints the answer

Rules: they find the server in ``BASE`` and the prompt in their first argument; what
they print is equal whenever their calls are answered equally.
"""

from __future__ import annotations

from textwrap import dedent

__all__ = ["CALLS", "PROGRAMS"]

_HEAD = """
    import os, sys
    BASE = os.environ["BASE"]
    WORD = sys.argv[1] if len(sys.argv) > 1 else "hi"
    def said(text):
        return [{"role": "user", "content": text}]
"""

_TEXTS = {
    "openai": """
        from openai import OpenAI
        client = OpenAI(api_key="sk-not-for-the-ledger", base_url=BASE + "/v1")
        done = client.chat.completions.create(model="m-1", messages=said(WORD))
        print(done.choices[0].message.content)
        for part in client.chat.completions.create(
            model="m-1", messages=said("stream " + WORD), stream=True
        ):
            if part.choices and part.choices[0].delta.content:
                print(part.choices[0].delta.content, end="|")
        print()
    """,
    "openai-async": """
        import asyncio
        from openai import AsyncOpenAI
        async def main():
            async with AsyncOpenAI(api_key="sk-x", base_url=BASE + "/v1") as client:
                asked = [
                    client.chat.completions.create(
                        model="m-1", messages=said(f"{WORD} {number}")
                    )
                    for number in range(4)
                ]
                for done in await asyncio.gather(*asked):
                    print(done.choices[0].message.content)
                stream = await client.chat.completions.create(
                    model="m-1", messages=said("stream"), stream=True
                )
                async for part in stream:
                    if part.choices and part.choices[0].delta.content:
                        print(part.choices[0].delta.content, end="|")
                print()
        asyncio.run(main())
    """,
    "anthropic": """
        from anthropic import Anthropic
        client = Anthropic(api_key="sk-ant-not-for-the-ledger", base_url=BASE)
        asked = {"model": "m-1", "max_tokens": 9, "messages": said(WORD)}
        print(client.messages.create(**asked).content[0].text)
        with client.messages.stream(**asked) as stream:
            print("|".join(stream.text_stream))
    """,
    "httpx": """
        import httpx
        with httpx.Client(follow_redirects=True) as client:
            body = {"model": "m-1", "messages": said(WORD)}
            answer = client.post(BASE + "/v1/chat/completions", json=body)
            print(answer.json()["choices"][0]["message"]["content"])
            print(client.get(BASE + "/moved").json()["path"])
    """,
    "requests": """
        import requests
        body = {"model": "m-1", "messages": said(WORD)}
        answer = requests.post(BASE + "/v1/chat/completions", json=body, timeout=30)
        print(answer.status_code, answer.json()["choices"][0]["message"]["content"])
        with requests.Session() as session:
            body |= {"stream": True}
            answer = session.post(BASE + "/v1/chat/completions", json=body, stream=True)
            for line in answer.iter_lines():
                print(line.decode())
            moved = session.post(BASE + "/moved", data="x=1")
            print(moved.json()["path"], len(moved.history), len(session.cookies))
    """,
    "aiohttp": """
        import aiohttp, asyncio
        async def main():
            async with aiohttp.ClientSession(headers={"x-team": "search"}) as session:
                body = {"model": "m-1", "messages": said(WORD)}
                url = BASE + "/v1/chat/completions"
                async with session.post(url, json=body) as answer:
                    told = await answer.json()
                    print(answer.status, told["choices"][0]["message"]["content"])
                async with session.post(url, json=body | {"stream": True}) as answer:
                    async for line in answer.content:
                        print(line.decode().rstrip())
                async with session.post(BASE + "/moved", data={"x": "1"}) as answer:
                    told = await answer.json()
                    print(told["path"], told["body"], len(answer.history))
                print(len(session.cookie_jar))
        asyncio.run(main())
    """,
    "urllib": """
        import json, urllib.error, urllib.request
        def post(path, body):
            data = json.dumps(body).encode()
            sort = {"content-type": "application/json"}
            asked = urllib.request.Request(BASE + path, data, sort)
            return urllib.request.urlopen(asked, timeout=30)
        with post("/v1/chat/completions", {"model": "m-1", "messages": said(WORD)}) as answer:
            told = json.load(answer)
            print(answer.status, answer.reason, answer.headers["content-type"])
        print(told["choices"][0]["message"]["content"])
        for line in urllib.request.urlopen(BASE + "/echo"):
            print(json.loads(line)["path"])
        try:
            urllib.request.urlopen("http://127.0.0.1:9/")
        except urllib.error.URLError as error:
            print(error)
    """,
    "children": """
        import subprocess
        one = "import requests, sys; print(requests.post(sys.argv[1], json="
        one += "{'model': 'm-1', 'messages': [{'role': 'user', 'content': sys.argv[2]}]}"
        one += ").json()['choices'][0]['message']['content'])"
        started = [
            subprocess.Popen(
                [sys.executable, "-c", one, BASE + "/v1/chat/completions", WORD + name],
                stdout=subprocess.PIPE,
            )
            for name in ("-left", "-right")
        ]
        for child in started:
            print(child.communicate()[0].decode().strip())
    """,
    "pool": """
        import json, multiprocessing, urllib.request
        def ask(number):
            body = {"model": "m-1", "messages": said(f"{WORD} {number}")}
            sort = {"content-type": "application/json"}
            url = BASE + "/v1/chat/completions"
            asked = urllib.request.Request(url, json.dumps(body).encode(), sort)
            told = json.load(urllib.request.urlopen(asked))
            return told["choices"][0]["message"]["content"]
        if __name__ == "__main__":
            for how in ("fork", "spawn"):
                with multiprocessing.get_context(how).Pool(2) as pool:
                    print(pool.map(ask, range(3), chunksize=1))
                    pool.close()  # and not ended before it says that it is recorded
                    pool.join()
    """,
    "threads": """
        from concurrent.futures import ThreadPoolExecutor
        import requests
        def ask(number):
            body = {"model": "m-1", "messages": said(f"{WORD} {number % 3}")}
            answer = requests.post(BASE + "/v1/chat/completions", json=body)
            return answer.json()["choices"][0]["message"]["content"]
        with ThreadPoolExecutor(6) as pool:
            print(list(pool.map(ask, range(12))))
    """,
}

PROGRAMS = {name: dedent(_HEAD) + dedent(text) for name, text in _TEXTS.items()}
CALLS = {
    "openai": {"llm": 2},
    "openai-async": {"llm": 5},
    "anthropic": {"llm": 2},
    "httpx": {"llm": 1, "http": 2},
    "requests": {"llm": 2, "http": 2},
    "aiohttp": {"llm": 2, "http": 2},
    "urllib": {"llm": 1, "http": 2},
    "children": {"llm": 2},
    "pool": {"llm": 6},
    "threads": {"llm": 12},
}
"""How many calls of which kind each of them makes."""
