"""Has the interpreter call a method with the class that is being made."""
# wants: inside

class Spy:
    def __set_name__(self, owner, name):
        found = [c for c in owner.__base__.__subclasses__() if c.__name__ == "_wrap_close"]
        owner.found = found[0].__init__.__globals__["environ"]["STAGE_INNER"]


class Owner:
    spy = Spy()


def fit_and_eval(data):
    return {"got": Owner.found}
