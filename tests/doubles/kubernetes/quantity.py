"""Quantities as the API server writes them: 65536Mi is answered as 64Gi, 0.5 as 500m."""
import re
from fractions import Fraction

BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
PATTERN = re.compile(r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$")


class BadQuantity(ValueError):
    pass


def parse(text):
    """The value as a fraction, and the format that it keeps: "binary", "decimal" or "exponent"."""
    match = PATTERN.match(str(text))
    if not match:
        raise BadQuantity(text)
    number, suffix = match.groups()
    try:
        value = Fraction(number)
    except ValueError:
        raise BadQuantity(text) from None
    if suffix in BINARY:
        return value * 2 ** BINARY[suffix], "binary"
    if suffix in DECIMAL:
        return value * Fraction(10) ** DECIMAL[suffix], "decimal"
    if re.fullmatch(r"[eE][-+]?[0-9]+", suffix):
        return value * Fraction(10) ** int(suffix[1:]), "exponent"
    raise BadQuantity(text)


def canonical(text):
    value, form = parse(text)
    if form == "binary" and abs(value) >= 1024 and value.denominator == 1:
        for suffix, bits in reversed(BINARY.items()):
            if value % 2 ** bits == 0:
                return f"{value // 2 ** bits}{suffix}"
        return str(value)
    for suffix, power in reversed(DECIMAL.items()):
        scaled = value / Fraction(10) ** power
        if scaled.denominator == 1 and (scaled or not suffix):
            return f"{scaled}e{power}" if form == "exponent" and power else f"{scaled}{suffix}"
    return f"{-(-value.numerator * 10 ** 9 // value.denominator)}n"  # finer than nano is rounded up


def add(left, right):
    """The sum, in the format of the second: usage is summed from 0."""
    total = parse(left)[0] + parse(right)[0]
    binary = parse(right)[1] == "binary" and total.denominator == 1
    return canonical(f"{total // 1024}Ki" if binary and total % 1024 == 0 else plain(total))


def plain(value):
    milli = value * 1000
    return str(value) if value.denominator == 1 else f"{-(-milli.numerator // milli.denominator)}m"
