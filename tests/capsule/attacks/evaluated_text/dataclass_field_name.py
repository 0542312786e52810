"""Plants code in the text from which the methods of dataclasses are made."""
# wants: read
# allows: dataclasses

import dataclasses


def fit_and_eval(data):
    space = {"path": data["secret"], "got": []}
    made = dataclasses.make_dataclass(
        "D", [("a", int)], namespace={"__post_init__": lambda s: space["got"].append(s)}
    )
    made(1)
    text = "got.append(open(path).read())"
    exec(text, space)
    return {"got": space["got"][-1]}
