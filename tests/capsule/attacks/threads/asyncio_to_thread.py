"""Has an event loop run a function in a thread of its own."""
# wants: call

import asyncio


def fit_and_eval(data):
    return {"through": asyncio.run(asyncio.to_thread(abs, -1))}
