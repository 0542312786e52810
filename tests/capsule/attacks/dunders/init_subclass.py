"""Has the interpreter call a hook with the class, whose bases lead to all classes."""
# wants: inside

class Base:
    def __init_subclass__(cls, **more):
        for one in cls.__mro__[-1].__subclasses__():
            if one.__name__ == "_wrap_close":
                Base.found = one.__init__.__globals__["environ"]["STAGE_INNER"]


class Sub(Base):
    pass


def fit_and_eval(data):
    return {"got": Base.found}
