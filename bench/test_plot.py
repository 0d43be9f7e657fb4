#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The plotter: scales, texts of numbers, labels that make room for each other, and whole figures."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

sys.dont_write_bytecode = True
from measure import bars, calls, peers  # noqa: E402
from measure.rows import line, not_here  # noqa: E402
from plot import charts, figures, labels, scales  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def sample():
    """Lines as bench/run makes them, with one peer that is not here."""
    found = [line("round_trip", "floor", [3.0, 3.1, 3.2], "us", [3.0, 3.1, 3.2])]
    found += [line("round_trip", "mortise", [3.4, 3.5, 3.6], "us", [3.0, 3.1, 3.2])]
    found += [line("round_trip", "a <peer> & \"more\"", [300.0, 310.0, 900.0], "us", [3.0, 3.1, 3.2])]
    found += [
        {
            "bench": "round_trip",
            "subject": "absent",
            "value": None,
            "unit": "us",
            "ratio_to_floor": None,
            "why": "no",
        }
    ]
    for depth in (1, 64):
        found += [
            line(f"in_flight_{depth}", name, [1e6 * depth], "msg/s", [1e6]) for name in ("floor", "mortise")
        ]
    return found


class Scales(unittest.TestCase):
    def test_linear_from_zero_to_a_round_number(self):
        scale = scales.Linear([3, 17.2], 100, 300)
        self.assertEqual(scale.ticks, [0, 5, 10, 15, 20])
        self.assertEqual([scale.at(0), scale.at(10), scale.at(20)], [100, 200, 300])

    def test_linear_upwards(self):
        scale = scales.Linear([10], 400, 100)
        self.assertEqual([scale.at(0), scale.at(10)], [400, 100])

    def test_log_has_whole_decades(self):
        scale = scales.Log([3, 420], 0, 300)
        self.assertEqual(scale.ticks, [1, 10, 100, 1000])
        self.assertAlmostEqual(scale.at(10), 100)
        self.assertAlmostEqual(scale.at(100), 200)

    def test_log_of_one_value_has_a_decade(self):
        self.assertEqual(scales.Log([10], 0, 1).ticks, [10, 100])

    def test_log_exact_has_a_tick_for_each_value(self):
        scale = scales.Log([1, 2, 4, 16], 0, 4, exact=True)
        self.assertEqual([round(scale.at(tick), 6) for tick in scale.ticks], [0, 1, 2, 4])

    def test_log_refuses_zero(self):
        self.assertRaises(ValueError, scales.Log, [0, 1], 0, 1)

    def test_numbers(self):
        for text, expected in (
            (scales.time_text(3.456), "3.46 µs"),
            (scales.time_text(999.9), "1 ms"),
            (scales.time_text(0.25), "250 ns"),
            (scales.time_text(0), "0"),
            (scales.count_text(2_670_000), "2.67 M"),
            (scales.count_text(820), "820"),
            (scales.size_text(64 << 20), "64 MiB"),
            (scales.size_text(64), "64 B"),
        ):
            self.assertEqual(text, expected)

    def test_labels_make_room_and_stay_inside(self):
        places = scales.apart([50, 50, 51, 300, 299], 18, 0, 300)
        order = sorted(places)
        self.assertTrue(all(b - a >= 18 - 1e-6 for a, b in zip(order, order[1:])), places)
        self.assertLessEqual(max(places), 300)
        self.assertLess(places[4], places[3])  # the order of before

    def test_labels_that_have_room_stay(self):
        self.assertEqual(scales.apart([10, 50], 18, 0, 300), [10, 50])


class Labels(unittest.TestCase):
    def places(self, points, curves=()):
        found = labels.room_for(points, curves, 0, 200)
        return found, [labels.box_of(x, y, words, anchor) for (x, y, anchor), (_, words) in zip(found, points)]

    def test_two_near_points_have_labels_apart(self):
        _, (one, other) = self.places([((100, 50), "3.22 us"), ((100, 46), "3.7 us")])
        self.assertFalse(labels.overlap(one, other))

    def test_neighbours_do_not_touch(self):
        _, (one, other) = self.places([((100, 50), "5.15 M"), ((140, 50), "5.1 M")])
        self.assertFalse(labels.overlap(one, other))

    def test_a_curve_above_sends_it_below(self):
        self.assertEqual(self.places([((100, 50), "1 M")])[0], [(100, 50 + labels.ABOVE, "middle")])
        curve = [(0, 38), (200, 38)]
        self.assertEqual(self.places([((100, 50), "1 M")], [curve])[0], [(100, 50 + labels.BELOW, "middle")])

    def test_ends_of_the_axis_stay_free(self):
        found, boxes = self.places([((0, 50), "3.46 us"), ((200, 50), "99.2 ms")])
        self.assertEqual([anchor for _, _, anchor in found], ["start", "end"])
        self.assertTrue(all(0 <= left and right <= 200 for left, _, right, _ in boxes), boxes)


class Figures(unittest.TestCase):
    def words(self, svg):
        return [element.text for element in xml.fromstring(svg).iter(SVG + "text")]

    def test_every_subject_and_value_is_written(self):
        words = self.words(figures.round_trip(sample(), "a machine"))
        for expected in (
            "floor",
            "mortise/lines",
            "a <peer> & \"more\"",
            "3.5 µs  (1.13 ×)",
            "310 µs  (100.00 ×)",
        ):
            self.assertIn(expected, words)
        self.assertNotIn("absent", words)

    def test_lines_have_names_and_values(self):
        words = self.words(figures.in_flight(sample(), "a machine"))
        for expected in ("mortise", "floor  64 M", "64 M", "calls under way (logarithmic)", "a machine"):
            self.assertIn(expected, words)

    def test_everything_is_inside(self):
        for svg in (figures.round_trip(sample(), "x"), figures.in_flight(sample(), "x")):
            top = xml.fromstring(svg)
            for element in top.iter(SVG + "text"):
                x, width = float(element.get("x")), 6.7 * len(element.text)
                end = x + width * {"start": 1, "middle": 0.5, "end": 0}[element.get("text-anchor")]
                self.assertTrue(0 <= end - width and end <= charts.WIDTH, element.text)
                self.assertTrue(0 <= float(element.get("y")) <= float(top.get("height")))

    def test_a_line_that_ends_early_says_where(self):
        words = self.words(
            figures.message(
                [line(f"message_{size}", "peer", [1], "us", [1]) for size in (64, 4 << 20)]
                + [line("message_67108864", "floor", [1], "us", [1])],
                "x",
            )
        )
        self.assertIn("peer  1 µs (4 MiB)", words)

    def test_values_can_be_heard(self):
        for figure, expected in (
            (figures.round_trip, "mortise/lines: 3.5 µs, 1.13 ×"),
            (figures.in_flight, "mortise: 1 M at 1, 64 M at 64"),
        ):
            top = xml.fromstring(figure(sample(), "x"))
            self.assertEqual(top.get("aria-labelledby"), "title desc")
            self.assertEqual([top.find(SVG + name).get("id") for name in ("title", "desc")], ["title", "desc"])
            self.assertIn(expected, top.find(SVG + "desc").text)

    def test_only_what_was_measured_is_written(self):
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            (place / "starts.svg").write_text("of before")
            self.assertEqual(figures.write(sample(), place), ["round-trip.svg", "in-flight.svg"])
            self.assertEqual((place / "starts.svg").read_text(), "of before")

    def test_pages_show_all_figures(self):
        root = pathlib.Path(__file__).resolve().parent.parent
        page = (root / "docs/guide/performance.md").read_text(encoding="utf-8")
        for name in figures.FIGURES:
            self.assertIn(f"(../bench/{name}.svg)", page)
            xml.parse(root / "docs/bench" / f"{name}.svg")


class Rows(unittest.TestCase):
    def test_ratio_is_within_rounds(self):
        row = line("x", "y", [2, 20, 200], "us", [1, 10, 100])
        self.assertEqual((row["value"], row["ratio_to_floor"], row["rounds"]), (20, 2, 3))
        self.assertEqual((row["low"], row["high"]), (11, 110))

    def test_bars(self):
        for subject, ratio, expected in (("mortise", 1.3, True), ("mortise", 1.1, False), ("floor", 9, False)):
            self.assertEqual(bars.missed(line("seq_1core", subject, [1], "us", ratio=ratio)), expected)
        self.assertTrue(bars.missed(line("inflight64_1core", "mortise", [1], "msg/s", ratio=0.1)))
        self.assertTrue(bars.missed(line("instructions", "mortise", [9999], "instr", ratio=1)))

    def test_table_of_all_bars(self):
        found = [line("seq_1core", name, [1], "us", ratio=ratio) for name, ratio in (("a", 1.1), ("b", 1.3))]
        found += [line("inflight64_1core", "mortise", [1], "msg/s", ratio=0.25)]
        with tempfile.TemporaryDirectory() as place:
            pathlib.Path(place, "results.json").write_text(json.dumps(found))
            command = [pathlib.Path(__file__).parent / "bars", place, "--check"]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, "each framing +1.300  at most 1.18: MISSED")
        self.assertRegex(done.stdout, "64 calls under way +0.250  at least 0.2: ok")
        self.assertRegex(done.stdout, "a guarded start +-  at most 1.6: not measured")
        self.assertRegex(done.stdout, "1 hold, 1 missed, [0-9]+ not measured")

    def bars_of(self, found, *flags):
        with tempfile.TemporaryDirectory() as place:
            for file, lines in found.items():
                pathlib.Path(place, file).write_text(json.dumps(lines))
            command = [pathlib.Path(__file__).parent / "bars", place, *flags]
            return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=60)

    def test_what_was_not_measured_fails_only_if_asked(self):
        good = {"results.json": [line("seq_1core", "mortise", [1], "us", ratio=1.1)]}
        for flags, code in ([], 0), (["--check"], 0), (["--complete"], 1), (["--check", "--complete"], 1):
            self.assertEqual(self.bars_of(good, *flags).returncode, code, flags)

    def test_a_bar_says_why_it_was_not_measured(self):
        rows = [not_here("start_t1_to_bwrap", "t1", "x", "no bwrap")]
        said = self.bars_of({"results.json": rows}).stdout
        self.assertRegex(said, "bwrap --unshare-all +-  at most 1.0: not measured: t1: no bwrap")
        self.assertRegex(said, "guarded against confined +-  .*: not measured: ./dev bench --only projects")

    def test_one_of_several_that_is_not_here(self):
        rows = [
            {"bench": "index", "subject": "zlib", "ratio": 1.0},
            {"bench": "index", "subject": "jq", "why": "no network"},
        ]
        done = self.bars_of({"projects.json": rows}, "--complete")
        self.assertRegex(done.stdout, "guarded against confined +1.000 .*: not all measured: jq: no network")

    def test_spinning_against_chance(self):
        """`ours`: against a host that sleeps at once, which takes 10; by chance the same took 9 to 11."""
        for row, ours, expected in (
            ("spin_1core", 11, 1.0),
            ("spin_1core", 12, 12 / 11),
            ("spin_unpinned", 4, 0.8),
            ("spin_unpinned", 10.5, 10.5 / 11),
            ("spin_unpinned", 7, 9 / 7),
            ("spin_unpinned", 12, 12 / 11),
        ):
            found = {"floor": [10, 10, 10], "mortise": [ours] * 3, "asleep again": [9, 10, 11]}
            self.assertAlmostEqual(calls.by_chance(row, found)["ratio_to_floor"], expected, 3, (row, ours))

    def test_every_bar_has_a_row_of_the_bench(self):
        """Rows of results.json: each name that bench/bars reads is one that a section writes."""
        here = pathlib.Path(__file__).resolve().parent
        written = "".join(path.read_text(encoding="utf-8") for path in (here / "measure").glob("*.py"))
        for name in re.findall(r'RESULTS,\s+"(\w+)"', (here / "bars").read_text(encoding="utf-8")):
            stem = re.sub(r"(_1000|_to_chance|_to_bar)$", "_", name)
            self.assertTrue(f'"{name}"' in written or f'"{stem.rstrip(chr(95))}' in written, name)

    def test_a_peer_that_is_not_here_says_why(self):
        self.assertIn("not here: no", bars.table_row(sample()[3]))

    def test_a_peer_that_fails_keeps_what_it_said(self):
        program = (
            'echo \'{"depth": 1, "size": 44, "ns": 7, "batches": 1}\'; echo "error: too large" >&2; exit 1'
        )
        took, why = peers.sweep(["sh", "-c", program], 0.1, [(1, 44), (1, 64)])
        self.assertEqual((took, why), ({(1, 44): 7}, "error: too large"))


if __name__ == "__main__":
    unittest.main()
