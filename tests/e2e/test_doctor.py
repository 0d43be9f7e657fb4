# SPDX-License-Identifier: Apache-2.0
"""mortise doctor: what it says must be so."""
import json
import platform
import shutil
import subprocess
import unittest

from refusing import DOCKER, NO_RIGHTS, NOT_HERE, refusing
from support import BUILD, Case, LIMIT, MORTISE


class Doctor(Case):
    def examine(self, *prefix, **how):
        """The object, however the verdict turned out."""
        done = subprocess.run(
            [*prefix, str(MORTISE), "doctor", "--json"],
            capture_output=True,
            timeout=LIMIT,
            check=False,
            **{"env": self.env, **how},
        )
        self.assertEqual(done.stderr, b"")
        told = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if told["auto"] else 125)
        return told

    def test_members(self):
        told = self.examine()
        self.assertEqual(told["kernel"], platform.release())
        self.assertEqual([level["level"] for level in told["levels"]], ["guarded", "t0", "t1"])
        names = [check["name"] for check in told["checks"]]
        for (
            name
        ) in "kernel helper landlock seccomp userns pidns mountns netns cgroup pipes files python node".split():
            self.assertIn(name, names)
        for check in told["checks"]:
            self.assertIn(check["state"], ("ok", "limited", "missing"))
            self.assertTrue(check["found"] and check["promise"] and check["without"], check)
            self.assertEqual(check["change"] is None, check["state"] == "ok", check)
        self.assertEqual([row["abi"] for row in told["landlock"]], list(range(1, len(told["landlock"]) + 1)))

    def test_levels_agree_with_the_checks(self):
        told = self.examine()
        state = {check["name"]: check["state"] for check in told["checks"]}
        works = {level["level"]: level["available"] for level in told["levels"]}
        self.assertTrue(works["guarded"])
        if state["landlock"] != "missing" and state["seccomp"] != "missing":
            self.assertTrue(works["t0"], told["levels"])
        if works["t0"] and "missing" not in [state[n] for n in "userns mountns pidns netns proc".split()]:
            self.assertTrue(works["t1"], told["levels"])
        self.assertEqual(told["auto"], "t1" if works["t1"] else "t0" if works["t0"] else None)

    def test_rungs(self):
        """What ends all of a plugin's processes, as it was found in force."""
        rungs = {level["level"]: level["rung"] for level in self.examine()["levels"] if level["available"]}
        self.assertEqual(
            {name: rung for name, rung in rungs.items() if name != "t1"},
            {name: "subreaper" for name in rungs if name != "t1"},
        )
        self.assertEqual(rungs.get("t1", "pidns"), "pidns")
        self.assertIn("its guardian ends all its processes", self.run_mortise("doctor").out)

    def test_helper_is_ours(self):
        helper = next(check for check in self.examine()["checks"] if check["name"] == "helper")
        self.assertRegex(helper["found"], rf"^{BUILD}/mortise-jail, version \d")

    def test_interpreters(self):
        checks = {check["name"]: check for check in self.examine()["checks"]}
        self.assertRegex(checks["python"]["found"], r"^/usr/bin/python3 \(Python 3\.")
        if shutil.which("node"):
            self.assertRegex(checks["node"]["found"], r"node \(v\d+")

    @unittest.skipUnless(shutil.which("unshare"), "needs unshare(1)")
    def test_without_user_namespaces(self):
        """In a user namespace that may have none below it."""
        script = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"'
        if subprocess.run(
            ["unshare", "-r", "sh", "-c", script, "sh", "true"], stderr=subprocess.DEVNULL, check=False
        ).returncode:
            self.skipTest("no user namespaces at all")
        told = self.examine("unshare", "-r", "sh", "-c", script, "sh")
        checks = {check["name"]: check for check in told["checks"]}
        self.assertEqual(checks["userns"]["state"], "missing")
        self.assertEqual(checks["userns"]["change"], "sysctl user.max_user_namespaces=15000")
        works = {level["level"]: level for level in told["levels"]}
        self.assertFalse(works["t1"]["available"])
        self.assertRegex(works["t1"]["why"], "namespace")
        self.assertIn("protected paths in a writable workspace: the broker", told["one_layer_only"])

    def examine_in(self, refused, **env):
        told = self.examine(preexec_fn=refusing(refused), env={**self.env, **env})
        checks = {check["name"]: check for check in told["checks"]}
        works = [level["level"] for level in told["levels"] if level["available"]]
        return told, checks, works

    @unittest.skipIf(NOT_HERE, NOT_HERE)
    def test_where_a_container_refuses(self):
        """Calls as Docker's profile refuses them. The place is told by Kubernetes' own variable."""
        told, checks, works = self.examine_in(DOCKER, KUBERNETES_SERVICE_HOST="10.0.0.1")
        self.assertNotIn("t1", works)
        self.assertEqual(told["container"], "kubernetes")
        self.assertRegex(
            told["place"], r"^in a pod of Kubernetes: user namespaces are refused; t1 needs securityContext: "
        )
        self.assertEqual(checks["getfd"]["found"], "refused: Operation not permitted")
        self.assertEqual(checks["getfd"]["change"], "securityContext: {capabilities: {add: [SYS_PTRACE]}}")
        for name in "userns", "pidns", "mountns", "proc", "netns", "ipcns":
            self.assertEqual(checks[name]["state"], "missing", name)
            self.assertIn("seccompProfile", checks[name]["change"])

    @unittest.skipIf(NOT_HERE, NOT_HERE)
    def test_where_a_namespace_has_no_rights(self):
        told, checks, works = self.examine_in(NO_RIGHTS, KUBERNETES_SERVICE_HOST="10.0.0.1")
        if checks["userns"]["state"] == "missing":
            self.skipTest("no user namespaces at all")
        self.assertNotIn("t1", works)
        self.assertIn(": user namespaces give no rights; t1 needs ", told["place"])
        self.assertEqual(checks["mountns"]["found"], "refused: Permission denied")

    def test_the_place_is_on_the_page(self):
        done = self.run_mortise("doctor", env={"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
        self.assertRegex(done.out.splitlines()[1], "^in a pod of Kubernetes")

    def test_page(self):
        done = self.run_mortise("doctor")
        for text in (
            "Levels",
            "guarded",
            "Landlock",
            "WHAT NEEDS IT",
            "LANDLOCK ABI",
            "Enforced by one layer only",
        ):
            self.assertIn(text, done.out)
        self.assertEqual(done.err, "")
        self.assertNotIn("\x1b", done.out)

    def test_leaves_nothing(self):
        (self.dir / "tmp").mkdir()
        self.env["TMPDIR"] = str(self.dir / "tmp")
        before = sorted(self.dir.rglob("*"))
        self.examine()
        self.assertEqual(sorted(self.dir.rglob("*")), before)

    def test_wrong_words(self):
        self.fails(2, "usage", "doctor", "x")


if __name__ == "__main__":
    unittest.main()
