"""Lists forbidden attributes for patterns without names."""
# wants: read

class Any:
    __match_args__ = ("__self__",)


class Meta(type):
    def __instancecheck__(cls, other):
        return True


class Every(Any, metaclass=Meta):
    pass


def fit_and_eval(data):
    match len:
        case Every(module):
            return {"got": module.open(data["secret"]).read()}
