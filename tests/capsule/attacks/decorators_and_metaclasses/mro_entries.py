"""Replaces the bases of a class by what a base's own method returns."""
# wants: read

class Base:
    def __mro_entries__(self, bases):
        return (type(open.__self__),)


class Module(Base()):
    pass


def fit_and_eval(data):
    m = Module("m")
    m.__dict__.update(open.__self__.__dict__)
    return {"got": m.open(data["secret"]).read()}
