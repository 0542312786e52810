"""Returns an object whose pickle sends a signal to the host."""
# wants: signal
# waits: 0.05

class Kill:
    def __init__(self, pid):
        self.pid = pid

    def __reduce__(self):
        import os
        import signal

        return os.kill, (self.pid, signal.SIGUSR2)


def fit_and_eval(data):
    return {"model": Kill(data["host"])}
