"""Roman numerals."""

VALUES = {
    1000: "M",
    900: "CM",
    500: "D",
    400: "CD",
    100: "C",
    90: "XC",
    50: "L",
    10: "X",
    9: "IX",
    5: "V",
    4: "IV",
    1: "I",
}


def roman(number):
    """Return *number*, from 1 to 3999, in Roman numerals."""
    if not 0 < number < 4000:
        raise ValueError(number)
    written = ""
    for value, sign in VALUES.items():
        written += sign * (number // value)
        number %= value
    return written
