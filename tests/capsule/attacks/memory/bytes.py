"""Asks for a large piece at once."""
# wants: memory

def fit_and_eval(data):
    held = bytearray(232_000_000)
    held[::4096] = bytes(len(held[::4096]))
    return {"n": len(held) + len(bytes(held[:1]))}
