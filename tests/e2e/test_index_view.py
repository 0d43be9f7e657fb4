# SPDX-License-Identifier: Apache-2.0
"""mortise index: the files of a record at the record's paths, for that analysis alone."""
import json
import os
import shutil
import subprocess
import unittest

from kythe_support import IndexCase, NO_NAMESPACES, PUPPET, SIMPLE, Unit, digest, program, read_entries, simple
from support import BUILD, PYTHON


def look(*names):
    return program("look", names=names)


class Common:
    """What both kinds of view promise."""

    def looks(self, kzip, *words, **how):
        """{(path): bytes}, of the facts that look() wrote."""
        return {
            path: value for (path, fact), value in self.seen(kzip, *words, **how).items() if fact == "/look"
        }

    def test_r26_r27_contents(self):
        """open, read and lseek, with precisely the record's bytes; empty ones and binary ones, too."""
        blob = bytes(range(256)) * 300
        reads = "f = open('sub/blob', 'rb')\nf.seek(256 * 299 + 5)\nout.fact('/tail', f.read())\n" + look(
            "sub/blob", "empty", "sub/deep/er/x"
        )
        unit = Unit({"a.toy": reads, "sub/blob": blob, "empty": b"", "sub/deep/er/x": b"y"})
        seen = self.seen(self.kzip([unit]))
        self.assertEqual(seen["-", "/tail"], bytes(range(5, 256)))
        self.assertEqual(
            [seen[name, "/look"] for name in ("sub/blob", "empty", "sub/deep/er/x")], [blob, b"", b"y"]
        )

    def test_r28_per_analysis(self):
        """The same path with other bytes in the next analysis of the same process, and nothing of
        the one before."""
        units = [
            Unit(
                {
                    "a.toy": look("h", "only0", "only1", "only2", "d/x", "d")
                    + f"import os\nout.fact('/pid', str(os.getpid()))\n# {i}\n",
                    "h": f"header {i}",
                    f"only{i}": "mine",
                    **({"d/x": "in a directory"} if i != 1 else {"d": "a file"}),
                }
            )
            for i in range(3)
        ]
        _, entries = self.report(self.kzip(units), "-j1")
        looks = [value for _, fact, value in entries if fact == "/look"]
        self.assertEqual(looks[0:6], [b"header 0", b"mine", b"ENOENT", b"ENOENT", b"in a directory", b"EISDIR"])
        self.assertEqual(looks[6:12], [b"header 1", b"ENOENT", b"mine", b"ENOENT", b"ENOTDIR", b"a file"])
        self.assertEqual(
            looks[12:18], [b"header 2", b"ENOENT", b"ENOENT", b"mine", b"in a directory", b"EISDIR"]
        )
        self.assertEqual(len({value for _, fact, value in entries if fact == "/pid"}), 1)

    def test_the_same_files(self):
        """Records with the same files one after the other, in one process and in a fresh one; another one
        between them."""
        units = [
            Unit(
                {"a.toy": look("h", "d/x") + program("fails_once_if_told"), "h": f"header {h}", "d/x": "X"},
                output_key=f"key {i}",
                argument=["tool", how],
            )
            for i, (h, how) in enumerate([(1, ""), (1, ""), (1, "fail"), (1, ""), (2, ""), (1, ""), (1, "")])
        ]
        _, entries = self.report(self.kzip(units), "-j1")
        looks = [value for _, fact, value in entries if fact == "/look"]
        self.assertEqual(looks[::2], [f"header {2 if i == 4 else 1}".encode() for i in range(7)])
        self.assertEqual(set(looks[1::2]), {b"X"})
        self.assertEqual(len({value for _, fact, value in entries if fact == "/pid"}), 2)

    def test_detours(self):
        """a/b/../c wants a/b, though no file of the record lies in it; and only while it is wanted."""
        units = [
            Unit(
                {
                    "a.toy": look("a/b/../c", "x/y/z/../../w", "c"),
                    "a/b/../c": "C",
                    "x/y/z/../../w": "W",
                    "c": "c",
                }
            ),
            Unit(
                {
                    "b.toy": "import os\nout.fact('/left', [os.path.exists(p) for p in ('a', 'x')])\n"
                    + look("q/../r"),
                    "q/../r": "R",
                }
            ),
            Unit({"c.toy": look("q", "a/b"), "q": "a file now", "a/b": "and this"}),
        ]
        _, entries = self.report(self.kzip(units), "-j1")
        self.assertEqual(
            [value for _, _, value in entries],
            [b"C", b"W", b"c", b"[false, false]", b"R", b"a file now", b"and this"],
        )
        report, _ = self.report(self.kzip([Unit({"a.toy": SIMPLE, "d": "a file", "d/../e": "E"})]), code=1)
        self.assertIn("d/../e", self.reasons(report)["a.toy"])

    def test_equal_digests_share_an_inode(self):
        unit = Unit(
            {
                "a.toy": "import os\nout.fact('/inodes', [os.stat(n).st_ino for n in ('x', 'd/y', 'z')])\n",
                "x": "same",
                "d/y": "same",
                "z": "other",
            }
        )
        x, y, z = json.loads(self.seen(self.kzip([unit]))["-", "/inodes"])
        self.assertEqual(x, y)
        self.assertNotEqual(x, z)

    def test_constant_times(self):
        unit = Unit({"a.toy": "import os\nout.fact('/time', [os.stat('x').st_mtime])\n", "x": "x"})
        self.assertEqual(self.seen(self.kzip([unit]))["-", "/time"], b"[1.0]")

    def test_missing_and_wrong(self):
        """An input that the archive lacks, or whose bytes are not those of its digest: failed by name,
        never handed out."""
        units = [
            Unit({"lacks.toy": SIMPLE, "gone.h": "gone"}, lacking=("gone.h",)),
            Unit({"wrong.toy": SIMPLE, "w.h": "other bytes"}, digests={"w.h": digest("its bytes")}),
            Unit({"odd.toy": SIMPLE, "o.h": "x"}, lacking=("o.h",), digests={"o.h": "no digest"}),
            *simple(2),
        ]
        report, entries = self.report(self.kzip(units), code=1)
        self.expect_simple(entries, units[3:])
        reasons = self.reasons(report)
        self.assertEqual(set(reasons), {"lacks.toy", "wrong.toy", "odd.toy"})
        for name, path in (("lacks.toy", "gone.h"), ("wrong.toy", "w.h"), ("odd.toy", "o.h")):
            self.assertIn(path, reasons[name])
        self.assertEqual({failure["attempts"] for failure in report["failures"]}, {0})
        self.assertEqual(sorted(os.listdir(self.state)), ["attempts-u0.toy", "attempts-u1.toy"])

    def test_contradictions(self):
        both = Unit({"file.toy": SIMPLE, "d": "a file", "d/x": "and a directory"})
        twice = Unit({"two.toy": SIMPLE, "x": "one", "./x": "two"})
        same = Unit({"same.toy": SIMPLE, "x": "one", "./x": "one", "y/../x": "one"})
        report, entries = self.report(self.kzip([both, twice, same]), code=1)
        self.expect_simple(entries, [same])
        self.assertIn("d/x", self.reasons(report)["file.toy"])
        self.assertIn("two contents", self.reasons(report)["two.toy"])

    def test_second_run_writes_nothing(self):
        kzip = self.kzip(
            simple(4) + [Unit({"x.toy": SIMPLE, "h": "shared"}), Unit({"y.toy": SIMPLE, "h": "shared"})]
        )
        first, second = self.report(kzip)[0], self.report(kzip)[0]
        self.assertEqual((first["staging"]["written"], second["staging"]["written"]), (6, 0))

    def test_damaged_cache(self):
        """Contents that somebody touched are written anew: never other bytes than the record's."""
        unit = Unit({"a.toy": look("h"), "h": "original"})
        kzip = self.kzip([unit])
        self.assertEqual(self.looks(kzip), {"h": b"original"})
        (blob,) = (self.dir / "cache").rglob(digest("original"))
        before = blob.stat()
        for text, hidden in (("spoilt!!", False), ("oriGinal", True), ("longer than it was", True)):
            blob.chmod(0o644)
            blob.write_text(text)
            if hidden:  # as a disk that goes bad would: nothing but the bytes tells
                os.utime(blob, ns=(before.st_atime_ns, before.st_mtime_ns))
                blob.chmod(0o444)
            report, entries = self.report(kzip)
            self.assertEqual(
                {path: value for path, fact, value in entries if fact == "/look"}, {"h": b"original"}
            )
            self.assertEqual((report["staging"]["mended"], report["staging"]["written"]), (1, 1), text)
            self.assertIn("warning: 1 content in ", report["stderr"])
        self.assertEqual(self.report(kzip)[0]["staging"]["mended"], 0)

    def test_nothing_of_the_stage_is_left(self):
        self.report(self.kzip(simple(3)))
        (stages,) = (self.dir / "cache").rglob("stages")
        self.assertEqual(list(stages.iterdir()), [])

    def test_relative_working_directory(self):
        """a24: the inputs are found from the directory that is told."""
        for cwd in ("", "sub/dir"):
            unit = Unit(
                {
                    "x/a.toy": look("x/a.toy", "h")
                    + "import os\nout.fact('/cwd', os.getcwd() + ' ' + unit['workingDir'])\n",
                    "h": "H",
                },
                cwd=cwd,
            )
            seen = self.seen(self.kzip([unit]))
            self.assertEqual(seen["h", "/look"], b"H")
            here, told = seen["-", "/cwd"].decode().split()
            self.assertEqual(os.path.realpath(here), os.path.realpath(told))


@unittest.skipIf(NO_NAMESPACES, NO_NAMESPACES)
class Namespace(Common, IndexCase):
    view = "namespace"

    def test_a_session_of_its_own(self):
        """A session is a scheduling group: an analyzer does not share the time of the user's terminal."""
        unit = Unit({"a.toy": "import os\nout.fact('/session', str(os.getsid(0)))\n"})
        session = int(self.seen(self.kzip([unit]))["-", "/session"])
        self.assertNotEqual(session, os.getsid(0))

    def test_absolute_and_above(self):
        """Absolute paths, over directories that the host has and has not; ../ from the working directory."""
        names = [
            "/usr/include/zz_record/x.h",
            "/zz-nowhere/y.h",
            "../up.h",
            "../../../top.h",
            "/etc/zz.conf",
            "/src/a/../b/z.h",
        ]
        unit = Unit(
            {
                "a.toy": look(*names, "/src/up.h", "/top.h", "/src/b/z.h"),
                **{name: f"content of {name}" for name in names},
            },
            cwd="/src/a",
        )
        looks = self.looks(self.kzip([unit]))
        for name in names:
            self.assertEqual(looks[name], f"content of {name}".encode())
        self.assertEqual(looks["/src/up.h"], looks["../up.h"])
        self.assertEqual(looks["/src/b/z.h"], looks["/src/a/../b/z.h"])
        self.assertFalse(any(os.path.exists(name) for name in names if name.startswith("/")))

    def test_a24_deep_enough(self):
        """Without a working directory one is made up that the deepest ../ does not leave."""
        for cwd in ("", "rel/../ative"):
            names = ["../../../../far.h", "x/../../near.h", "h"]
            unit = Unit(
                {
                    "a.toy": look(*names) + "out.fact('/dir', unit['workingDir'])\n",
                    **{name: name for name in names},
                },
                cwd=cwd,
            )
            seen = self.seen(self.kzip([unit]))
            for name in names:
                self.assertEqual(seen[name, "/look"], name.encode())
            self.assertTrue(seen["-", "/dir"].startswith(b"/"))

    def test_over_the_host(self):
        """A path that the host has: the record's bytes. Beside it, the host's own."""
        with open("/etc/hostname", "rb") as file:
            hostname = file.read()
        unit = Unit({"a.toy": look("/etc/passwd", "/etc/hostname"), "/etc/passwd": "the record's"})
        self.assertEqual(
            self.looks(self.kzip([unit])), {"/etc/passwd": b"the record's", "/etc/hostname": hostname}
        )

    def test_r31_gone_after_done(self):
        """a30: before the next analyze is answered."""
        units = [
            Unit({"a.toy": program("waits_for_its_view_to_go"), "/src/zz.h": "z"}),
            Unit({"b.toy": look("/src/zz.h", "/src/a.toy", "a.toy")}),
        ]
        looks = self.looks(self.kzip(units), "-j1")
        self.assertEqual(looks, {"/src/zz.h": b"ENOENT", "/src/a.toy": b"ENOENT", "a.toy": b"ENOENT"})
        self.assertEqual((self.state / "seen").read_text(), "0")

    def test_open_files_outlive_the_view(self):
        """a30: descriptors and mappings go on working."""
        units = [
            Unit(
                {
                    "a.toy": "import builtins, mmap\nbuiltins.kept = open('/src/zz.h', 'rb')\nbuiltins.mapped = mmap.mmap(kept.fileno(), 0, access=mmap.ACCESS_READ)\n",
                    "zz.h": "kept content",
                }
            ),
            Unit({"b.toy": "out.fact('/kept', kept.read())\nout.fact('/map', mapped[:])\n"}),
        ]
        seen = self.seen(self.kzip(units), "-j1")
        self.assertEqual((seen["-", "/kept"], seen["-", "/map"]), (b"kept content", b"kept content"))

    def test_read_only(self):
        """Writing, replacing, removing, chmod: EROFS, and the next unit sees the record's bytes."""
        units = [
            Unit({"a.toy": program("writes_to_its_view"), "h": "precious"}),
            Unit({"b.toy": look("h"), "h": "precious"}),
        ]
        kzip = self.kzip(units)
        seen = self.seen(kzip, "-j1")
        tries = json.loads(seen["-", "/tries"])
        self.assertEqual((tries[0], set(tries) - {"EROFS", "EACCES"}), ("EROFS", set()), tries)
        self.assertEqual(seen["h", "/look"], b"precious")
        self.assertEqual(self.seen(kzip, "-j1")["h", "/look"], b"precious")

    def test_each_sees_its_own(self):
        """Four at once, all with the same path."""
        units = [
            Unit({"a.toy": program("meets_three_others", number=i), "/src/h": f"of {i}"}) for i in range(16)
        ]
        _, entries = self.report(self.kzip(units), "-j4")
        self.assertEqual(entries, [(str(i), "/h", f"of {i}".encode()) for i in range(16)])

    def test_hostile_paths(self):
        """A path cannot name anything outside the stage: it lands in the view, and nowhere else."""
        home = self.dir / "outside"
        names = [
            "../../../../../../../../.." + str(home),
            str(home) + "/../outside",
            "/./" + str(home).strip("/") + "//",
            "/proc/self/cwd/zz",
            "/proc/1/zz",
            "/dev/zz",
        ]
        units = [Unit({f"n{i}.toy": SIMPLE, name: "evil"}) for i, name in enumerate(names)] + simple(1)
        _, entries = self.report(self.kzip(units), "-j1", code=None)
        self.assertIn((units[-1].name, "/t", units[-1].files[units[-1].name]), entries)
        self.assertFalse(home.exists())
        self.assertFalse(os.path.exists("/dev/zz"))

    def test_cache_below_the_record(self):
        """Records of files beside the cache: the stage lies where the view is laid over."""
        place = self.dir / "project"
        unit = Unit({str(place / "a.toy"): look("h", str(self.dir / "beside")), "h": "H"}, cwd=str(place))
        self.file("beside", "of the host")
        looks = self.looks(self.kzip([unit]), analyzer=[PYTHON, PUPPET])
        self.assertEqual(looks, {"h": b"H", str(self.dir / "beside"): b"of the host"})

    def test_confine(self):
        """A confined analyzer reads its inputs in two consecutive analyses, and nothing else of the host."""
        secret = self.file("home/secret", "s3cret")
        names = ["/src/h", str(secret)]
        units = [
            Unit(
                {
                    f"{i}.toy": look(*names) + f"import os\nout.fact('/pid', str(os.getpid()))\n# {i}\n",
                    "/src/h": f"of {i}",
                    f"/srv/only{i}": "x",
                }
            )
            for i in range(3)
        ]
        self.confined(units, names, secret)

    def confined(self, units, names, secret):
        manifest = f"[plugin]\nname = \"p\"\ndialect = \"kythe\"\ncommand = [\"{PYTHON}\", \"./puppet.py\"]\n"
        self.file("p/mortise.toml", manifest)
        shutil.copy(PUPPET, self.dir / "p" / "puppet.py")
        _, entries = self.report(self.kzip(units), "-j1", "--confine", analyzer=("--analyzer", self.dir / "p"))
        looks = [value for path, fact, value in entries if fact == "/look" and path == names[0]]
        self.assertEqual(looks, [b"of 0", b"of 1", b"of 2"])
        self.assertNotIn(b"s3cret", b"".join(value for _, fact, value in entries))
        self.assertEqual(
            {value for path, _, value in entries if path == str(secret)} - {b"ENOENT", b"EACCES", b"EPERM"},
            set(),
        )
        self.assertEqual(len({value for _, fact, value in entries if fact == "/pid"}), 1)


class Directory(Common, IndexCase):
    view = "directory"

    def test_told_working_directory(self):
        """The working directory is a place of our own: the record's files lie there, and nothing else."""
        lists = "import os\nout.fact('/list', sorted(os.path.join(d, f)[len(unit['workingDir']) + 1:] for d, _, names in os.walk(unit['workingDir']) for f in names))\n"
        unit = Unit({"a.toy": lists, "d/h": "H", "./e/../f": "F"}, cwd="/src")
        self.assertEqual(json.loads(self.seen(self.kzip([unit]))["-", "/list"]), ["a.toy", "d/h", "f"])

    def test_cannot_be_shown(self):
        """Absolute, and not what this machine has there: failed by name before it is handed out."""
        here = str(self.file("here.h", "x"))
        units = [
            Unit({"abs.toy": SIMPLE, "/usr/include/zz.h": "x"}, cwd="/src"),
            Unit({"/src/own.toy": SIMPLE}, cwd="/src"),
            Unit({"other.toy": SIMPLE, here: "y"}),
            Unit({"up.toy": SIMPLE, "../zz.h": "x"}),
            Unit({"hidden.toy": SIMPLE, "a/../../zz.h": "x"}),
            Unit({"fine.toy": SIMPLE, "a/../zz.h": "x"}),
            Unit({"same.toy": SIMPLE, here: "x"}),
        ]
        report, entries = self.report(self.kzip(units), code=1)
        self.expect_simple(entries, units[3:])
        reasons = self.reasons(report)
        self.assertEqual(set(reasons), {"abs.toy", "/src/own.toy", "other.toy"})
        self.assertIn("/usr/include/zz.h", reasons["abs.toy"])
        self.assertIn("namespaces", reasons["other.toy"])
        self.assertEqual(
            sorted(os.listdir(self.state)),
            [f"attempts-{name}.toy" for name in ("fine", "hidden", "same", "up")],
        )

    def test_gone_after_done(self):
        units = [
            Unit({"a.toy": "import builtins\nbuiltins.place = unit['workingDir']\n", "zz.h": "z"}),
            Unit(
                {
                    "b.toy": "import os\nout.fact('/before', os.path.exists(place + '/zz.h') and place == unit['workingDir'])\n"
                    + look("zz.h", "a.toy")
                }
            ),
        ]
        seen = self.seen(self.kzip(units), "-j1")
        self.assertEqual(
            (seen["zz.h", "/look"], seen["a.toy", "/look"], seen["-", "/before"]),
            (b"ENOENT", b"ENOENT", b"false"),
        )

    def test_read_only(self):
        """Files are 0444; one who changes that and writes spoils no later unit."""
        units = [
            Unit({"a.toy": program("spoils_a_file"), "h": "precious"}),
            Unit({"b.toy": look("h"), "h": "precious"}),
            Unit({"c.toy": look("i"), "i": "precious"}),
        ]
        kzip = self.kzip(units)
        for _ in range(2):
            seen = self.seen(kzip, "-j1")
            self.assertEqual((seen["h", "/look"], seen["i", "/look"]), (b"precious", b"precious"))


class FallBack(IndexCase):
    view = "auto"

    @unittest.skipIf(NO_NAMESPACES, NO_NAMESPACES)
    def test_auto_takes_namespaces(self):
        report, _ = self.report(self.kzip(simple(1)))
        self.assertEqual((report["view"], report["stderr"]), ("namespace", ""))

    def refused(self, *words, code=0, **how):
        """In a user namespace that may have no further ones."""
        result = self.dir / "result"
        script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
        line = [
            "unshare",
            "-Ur",
            "sh",
            "-c",
            script,
            "sh",
            str(BUILD / "mortise"),
            *map(str, self.words(*words, **how)),
        ]
        done = subprocess.run(
            line,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=self.env,
            cwd=self.dir,
            timeout=240,
            check=False,
            text=True,
        )
        if "max_user_namespaces" in done.stderr and "sh:" in done.stderr:
            self.skipTest(f"cannot take namespaces away here: {done.stderr}")
        self.assertEqual(done.returncode, code, done.stderr)
        return done, read_entries(result.read_bytes()) if result.exists() else None

    @unittest.skipIf(NO_NAMESPACES, NO_NAMESPACES)
    def test_refused(self):
        """Directories instead, with a warning that says why; records that they cannot show are
        failed by name."""
        units = simple(5) + [Unit({"abs.toy": SIMPLE, "/usr/zz": "x"})]
        done, entries = self.refused(self.kzip(units), "-j2", "--json", "-o", self.dir / "result", code=1)
        self.expect_simple(entries, units[:5])
        report = json.loads(done.stdout)
        self.assertEqual((report["view"], list(self.reasons(report))), ("directory", ["abs.toy"]))
        self.assertRegex(
            done.stderr, "warning: no view of the file system .*: files are shown in directories instead"
        )

    @unittest.skipIf(NO_NAMESPACES, NO_NAMESPACES)
    def test_refused_when_asked_for(self):
        done, _ = self.refused(self.kzip(simple(2)), "-o", self.dir / "result", view="namespace", code=3)
        self.assertRegex(done.stderr, "start: no analyzer is left: .*namespaces")


if __name__ == "__main__":
    unittest.main()
