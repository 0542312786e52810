"""Has the module for identifiers start programs that know the machine's address."""
# wants: write
# allows: random uuid

import uuid


def fit_and_eval(data):
    uuid.os.environ["PATH"] = data["place"]
    with open(data["place"] + "/ifconfig", "w") as file:
        file.write("#!/bin/sh\necho > " + data["place"] + "/new\n")
    uuid.os.chmod(data["place"] + "/ifconfig", 0o755)
    uuid.getnode()
    return {}
