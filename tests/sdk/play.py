#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The same conversations for every SDK: the scripts of tests/talk and tests/sdk/talk are played against the
puppet of one language.

    play.py LANGUAGE [DIALECT[/SCRIPT]…]   plays them as tests (-v names each, --all in every way)
    play.py LANGUAGE --every=N             plays each N-th script, in one way
    play.py --count                        how many are played, per dialect
    play.py --part SCRIPT.talk             shows the part that a puppet gets

A script is played step by step, byte by byte, with all that the host says in one write, and with ids of another
kind. Where a process takes long to start, each script is played in some of these ways, and --all means all.
The first tier takes each N-th script: an interpreter takes longer to start than a script to be played.
A script that cannot be played is in left_out.py with the reason."""
import collections
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import left_out  # noqa: E402
import part  # noqa: E402
import stage  # noqa: E402
import talkfile  # noqa: E402

PLACES = [stage.ROOT / "tests/talk", stage.HERE / "talk"]
WAYS = ["step", "bytewise", "joined", "odd"]
HOW_MANY = {"c": 4, "python": 2, "node": 1}  # of them by default


NOT_HERE = ("demo", "go-plugin")  # only in tests of the host; not spoken over pipes


def scripts():
    return [
        talkfile.parse(path)
        for place in PLACES
        for path in sorted(place.glob("*/*.talk"))
        if path.parent.name not in NOT_HERE
    ]


def is_host_script(script):
    return script.path.is_relative_to(PLACES[0])


class Case(unittest.TestCase):
    maxDiff = None
    language = ""

    @classmethod
    def setUpClass(cls):
        cls.top = tempfile.TemporaryDirectory(prefix="mortise-play-")
        cls.addClassCleanup(cls.top.cleanup)

    def play(self, script, way):
        try:
            stage.play(stage.COMMANDS[self.language], script, way, self.top.name)
        except stage.Wrong as error:
            wrong = str(error)
        else:
            return
        self.fail(wrong)


class Table(unittest.TestCase):
    """left_out.py says the truth."""

    def test_every_script_is_played_or_left_out(self):
        for script in filter(is_host_script, scripts()):
            reason = left_out.reason_of(script.name)
            try:
                part.derive(script)
                derived = None
            except part.CannotPlay as error:
                derived = str(error)
            with self.subTest(script.name):
                if derived:
                    self.assertEqual(reason, derived, "write it into left_out.py")
                elif reason:
                    self.assertIn(reason, left_out.BY_HAND, "it can be played: remove it from left_out.py")

    def test_every_entry_is_a_script(self):
        names = {script.name for script in scripts()}
        self.assertEqual([name for name in left_out.names() if name not in names], [])

    def test_ours_are_played(self):
        for script in scripts():
            if not is_host_script(script):
                with self.subTest(script.name):
                    part.derive(script)


def test_of(script, ways):
    def run(self):
        skipped = left_out.LANGUAGE_ONLY.get((script.name, self.language))
        if skipped:
            self.skipTest(skipped)
        for way in ways:
            self.play(script, way)

    run.__doc__ = f"{script.name}, {' '.join(ways)}"
    return run


def fill_case(language, wanted, flags):
    count, every = 0, next((int(flag[8:]) for flag in flags if flag.startswith("--every=")), 0)
    many = 1 if every else len(WAYS) if "--all" in flags or wanted else HOW_MANY[language]
    members = {"language": language}
    for number, script in enumerate(scripts()):
        if every and number % every:
            continue
        if left_out.reason_of(script.name):
            continue
        if wanted and not any(script.name == word or script.dialect == word for word in wanted):
            continue
        name = (
            "test_"
            + script.name.replace("/", "_").replace("-", "_")
            + ("" if is_host_script(script) else "_sdk")
        )
        members[name] = test_of(script, [WAYS[(count + i) % len(WAYS)] for i in range(many)])
        count += 1
    return type("Play", (Case,), members)


def show_count():
    played, left = collections.Counter(), collections.Counter()
    for script in scripts():
        which = left if left_out.reason_of(script.name) else played
        which[(script.dialect, is_host_script(script))] += 1
    dialects = sorted({dialect for dialect, _ in [*played, *left]})
    print(f"{'dialect':16}{'played':>8}{'left out':>10}{'of the SDKs':>13}")
    for dialect in dialects:
        row = played[(dialect, True)], left[(dialect, True)], played[(dialect, False)]
        print(f"{dialect:16}{row[0]:8}{row[1]:10}{row[2]:13}")


def main(words):
    if words[:1] == ["--count"]:
        show_count()
        return
    if words[:1] == ["--part"]:
        for scene in part.derive(talkfile.parse(pathlib.Path(words[1]))):
            print(scene.part)
        return
    flags = [word for word in words if word.startswith("-")]
    plain = [word for word in words if not word.startswith("-")]
    if not plain or plain[0] not in stage.LANGUAGES:
        sys.exit(__doc__)
    suite = unittest.TestSuite(
        [unittest.defaultTestLoader.loadTestsFromTestCase(fill_case(plain[0], plain[1:], flags))]
    )
    if not plain[1:]:
        suite.addTest(unittest.defaultTestLoader.loadTestsFromTestCase(Table))
    done = unittest.TextTestRunner(verbosity=2 if "-v" in flags else 1).run(suite)
    sys.exit(not done.wasSuccessful())


if __name__ == "__main__":
    main(sys.argv[1:])
