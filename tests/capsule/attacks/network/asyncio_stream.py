"""Connects by an event loop."""
# wants: network

import asyncio


def fit_and_eval(data):
    async def go():
        await asyncio.open_connection("127.0.0.1", data["port"])

    asyncio.run(go())
    return {}
