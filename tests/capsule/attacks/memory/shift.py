"""Shifts a number to more bits than there is room for."""
# wants: memory

def fit_and_eval(data):
    return {"n": (1 << 2_200_000_000).bit_length()}
