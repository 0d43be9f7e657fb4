# SPDX-License-Identifier: Apache-2.0
"""Scales: where a value stands on an axis, which values get a tick, and how numbers and units are written."""
import math

TIMES = [(1e6, "s"), (1e3, "ms"), (1, "µs"), (1e-3, "ns")]  # of microseconds
COUNTS = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1, "")]
SIZES = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")]


class Linear:
    """From 0 to a round number above the largest value."""

    def __init__(self, values, first, last):
        self.first, self.last, self.low = first, last, 0
        step = nice_step(max(values) / 5)
        self.high = step * math.ceil(max(values) / step - 1e-9)
        self.ticks = [step * i for i in range(int(round(self.high / step)) + 1)]

    def at(self, value):
        return self.first + (self.last - self.first) * value / self.high


class Log:
    """Whole decades that hold all values, or, with `exact`, from the smallest value to the largest."""

    def __init__(self, values, first, last, exact=False):
        self.first, self.last = first, last
        low, high = min(values), max(values)
        if low <= 0:
            raise ValueError("a logarithmic axis has no zero")
        if exact:
            self.low, self.high, self.ticks = low, high, sorted(set(values))
            return
        bottom, top = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
        top = max(top, bottom + 1)
        self.low, self.high = 10.0**bottom, 10.0**top
        self.ticks = [10.0**power for power in range(bottom, top + 1)]

    def at(self, value):
        if self.high == self.low:
            return (self.first + self.last) / 2
        part = math.log(value / self.low) / math.log(self.high / self.low)
        return self.first + (self.last - self.first) * part


def nice_step(rough):
    """The next of 1, 2, 2.5, 5, 10 … that is no smaller."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))


def digits(value):
    """Three digits that mean something, and no zeros behind them."""
    if value >= 100:
        return f"{value:.0f}"
    text = f"{value:.3g}"
    return text if "e" not in text else f"{value:.0f}"


def with_unit(value, units, space=" "):
    """As 3.4 µs, 64 KiB, 1.2 M."""
    if value == 0:
        return "0"
    # what would be written as 1000 of a unit is 1 of the next
    factor, name = next((one for one in units if value >= one[0] * 0.9995), units[-1])
    return digits(value / factor) + (space + name if name else "")


def time_text(microseconds):
    return with_unit(microseconds, TIMES)


def count_text(value):
    return with_unit(value, COUNTS)


def size_text(value):
    return with_unit(value, SIZES)


def apart(places, least, low, high):
    """Labels at `places`, moved so that two are at least `least` apart, in the same order, and none is outside
    of low .. high if they all have room there."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    place = low - least
    for i in order:  # down, so that none is too near to the one above
        place = moved[i] = max(moved[i], place + least)
    place = high + least
    for i in reversed(order):  # up again, where the last ones were pushed out
        place = moved[i] = min(moved[i], place - least)
    return moved
