# SPDX-License-Identifier: Apache-2.0
"""Where a value is written beside its point: above or below, wherever it covers less."""

SIZE = 12  # pixels, as in the style sheet of charts.py
ADVANCE = 0.62 * SIZE  # of a character, at most on average
ABOVE, BELOW = -10, 10 + SIZE
BESIDE = 3  # on both sides: two labels do not touch


def width_of(words):
    return ADVANCE * len(words)


def box_of(x, y, words, anchor):
    """(left, top, right, bottom); y is the line on which the words stand."""
    width = width_of(words)
    left = x - {"start": 0, "middle": width / 2, "end": width}[anchor]
    return left - BESIDE, y - SIZE, left + width + BESIDE, y + 2


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def height_at(curve, x):
    """Of a curve at x; None beside its ends."""
    for (x1, y1), (x2, y2) in zip(curve, curve[1:]):
        if x1 <= x <= x2:
            return y1 if x1 == x2 else y1 + (y2 - y1) * (x - x1) / (x2 - x1)
    return None


def covered(box, curves):
    """How many steps of two pixels of the curves are below the box."""
    left, top, right, bottom = box
    steps = [left + 2 * i for i in range(int((right - left) / 2) + 1)]
    heights = [height_at(curve, x) for curve in curves for x in steps]
    return sum(height is not None and top < height < bottom for height in heights)


def anchor_at(x, words, first, last):
    """The middle, but not across the ends of the axis: there stand numbers and names."""
    half = width_of(words) / 2
    return "start" if x - half < first else "end" if x + half > last else "middle"


def room_for(points, curves, first, last):
    """points: [((x, y), words)], the most important first. A place for each: (x, y, anchor)."""
    places, boxes = [], []
    for (x, y), words in points:
        anchor = anchor_at(x, words, first, last)
        shift = {"start": 4, "middle": 0, "end": -4}[anchor]
        choices = []
        for dy in (ABOVE, BELOW):
            box = box_of(x + shift, y + dy, words, anchor)
            hidden = sum(overlap(box, taken) for taken in boxes)
            choices.append(((hidden, covered(box, curves)), dy, box))
        _, dy, box = min(choices, key=lambda choice: choice[0])
        boxes.append(box)
        places.append((x + shift, y + dy, anchor))
    return places
