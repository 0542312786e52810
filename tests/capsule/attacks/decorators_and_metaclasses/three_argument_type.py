"""Makes a class by a call, with methods that no class statement may define."""
# wants: read

def fit_and_eval(data):
    made = type("X", (), {"__getattr__": lambda self, name: __import__(name)})
    return {"got": made().io.open(data["secret"]).read()}
