"""Catches with except*, which a filter of try statements may not know."""
# wants: read

def fit_and_eval(data):
    got = []
    try:
        raise ValueError
    except* ValueError as group:
        got.append(group.exceptions[0].__traceback__.tb_frame.f_builtins["open"])
    return {"got": got[0](data["secret"]).read()}
