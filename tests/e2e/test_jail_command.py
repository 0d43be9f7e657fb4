# SPDX-License-Identifier: Apache-2.0
"""mortise jail: any program, its own exit status, 9 for a violation, 125 where there is no jail.

The catalogue of escapes is in tests/jail; here the command itself: options, texts, streams, signals,
what is left behind.
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from levels import LEVELS, at_each_level, refused_already
from support import Case, ECHO, LIMIT, MORTISE, PYTHON, without_color


# Calls of test_every_kind that a container can refuse, as they can be tried without harm.
TRIED = {
    "libc('unshare', 0x10000000)": "unshare(0)",
    "socket.sethostname('x')": "sethostname(None, -1)",
    "ctypes.CDLL(None).syscall(250, 0, 0)": "syscall(250, 0, -3)",
    "ctypes.CDLL(None).mount(b'a', b'b', b'c', 0, None)": "mount(1, 1, 1, 0, None)",
    "ctypes.CDLL(None).syscall(321, 0, 0, 0)": "syscall(321, -1, 0, 0)",
}


def container_refuses(code):
    return code in TRIED and refused_already(TRIED[code])


class Words(Case):
    """What is wrong on the line is told before anything runs."""

    def test_usage(self):
        for words, text in (
            ([], 'write the program after "--"'),
            (["true"], 'after "--"'),
            (["--"], 'after "--"'),
            (["--write", "--", "true"], "--write needs --workspace"),
            (["--limit", "memory", "--", "true"], "NAME=VALUE"),
            (["--limit", "colour=red", "--", "true"], "memory, cpu, files"),
            (["--limit", "network=true", "--", "true"], "memory, cpu, files"),
            (["--limit", "memory=lots", "--", "true"], "memory is \"lots\""),
            (["--limit", "wall=0", "--", "true"], "a time above 0"),
            (["--level", "guarded", "--", "true"], "auto|t0|t1"),
            (["--on-denial", "ask", "--", "true"], "deny|kill"),
            (["--record-fd", "77", "--", "true"], "no such open descriptor"),
            (["--record-fd", "2", "--", "true"], "use 3 or more"),
        ):
            self.assertIn(text, self.fails(125, "usage", "jail", *words).err)

    def test_places_must_exist(self):
        for option in ("--workspace", "--read", "--plugin-dir", "--scratch"):
            self.assertIn(
                f"{option} nowhere", self.fails(125, "not_found", "jail", option, "nowhere", "--", "true").err
            )

    def test_program_must_exist(self):
        self.fails(127, "not_found", "jail", "--", "no-such-program")
        self.fails(127, "not_found", "jail", "--", "./no-such-program")
        self.file("plain.txt", "x")
        self.fails(126, "start", "jail", "-w", ".", "--", "./plain.txt")


@unittest.skipUnless(LEVELS, "this machine cannot confine")
class Jail(Case):
    def setUp(self):
        super().setUp()
        self.work = self.dir / "work"
        self.work.mkdir()
        (self.work / "note").write_text("inside\n")
        (self.dir / "secret").write_text("outside\n")

    def jail(self, level, *args, **how):
        return self.run_mortise("jail", "--level", level, *args, **how)

    def with_scratch(self, level):
        """A program that waits for ever, its scratch directory and its guardian's number."""
        code = (
            "import os, time; open(os.environ['TMPDIR'] + '/x', 'w').close(); os.mkdir(os.environ['TMPDIR'] + '/d');"
            "print(os.environ['TMPDIR'], flush=True); time.sleep(600)"
        )
        run = subprocess.Popen(
            [MORTISE, "jail", "--level", level, "--", PYTHON, "-c", code],
            env=self.env,
            cwd=self.dir,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(run.kill)  # a failed test must not wait for its end
        scratch = run.stdout.readline().strip()
        self.assertTrue(os.path.isdir(scratch), scratch)
        with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="ascii") as f:
            return run, scratch, int(f.read().split()[0])

    @at_each_level
    def test_umask_of_whoever_calls(self, level):
        """The directories of the root that is made for it can be entered all the same; its own is 022."""
        done = subprocess.run(
            [str(MORTISE), "jail", "--level", level, "--", "/bin/sh", "-c", "umask"],
            env=self.env,
            cwd=self.dir,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            umask=0o177,
            timeout=LIMIT,
            check=False,
        )
        self.assertEqual((done.returncode, done.stdout), (0, b"0022\n"), done.stderr)

    @at_each_level
    def test_killed_guardian_leaves_no_scratch(self, level):
        """Nobody is left who could remove it but the host."""
        run, scratch, guardian = self.with_scratch(level)
        with run:
            os.kill(guardian, signal.SIGKILL)
            run.communicate(timeout=LIMIT)
        self.assertEqual(run.returncode, 125)
        self.assertFalse(os.path.exists(scratch), scratch)

    @at_each_level
    def test_scratch_of_the_killed_goes_with_the_next_start(self, level):
        """Host and guardian die at once: the next run removes it, and nobody's who lives."""
        alive, kept, _ = self.with_scratch(level)
        run, scratch, guardian = self.with_scratch(level)
        with contextlib.ExitStack() as ends:
            ends.enter_context(alive)
            ends.callback(alive.kill)
            with run:
                for pid in (run.pid, guardian):  # neither may see the other's end
                    os.kill(pid, signal.SIGSTOP)
                for pid in (run.pid, guardian):
                    os.kill(pid, signal.SIGKILL)
                run.communicate(timeout=LIMIT)
            # Other starts on this machine go through /tmp as well, so it may be gone already.
            deadline = time.monotonic() + LIMIT  # a crowded /tmp is gone through by one start in 32
            while os.path.exists(scratch) and time.monotonic() < deadline:
                self.assertEqual(self.jail(level, "--", "/bin/true").code, 0)
            self.assertFalse(os.path.exists(scratch), scratch)
            # At t1 what is in it lies in a tmpfs that only the program sees.
            self.assertTrue(os.path.isdir(kept if level == "t1" else kept + "/d"), kept)
            alive.kill()
            alive.communicate(timeout=LIMIT)

    @at_each_level
    def test_words(self, level):
        """What was tried, in words, and the option that would allow it."""
        for code, words in (
            (
                "open('/etc/shadow')",
                "read /etc/shadow: no --read names it; to allow it, add --read /etc/shadow",
            ),
            (
                "open('note', 'w')",
                f"write {self.work}/note: the workspace may only be read; to allow it, add --write",
            ),
            (
                "import socket; socket.socket()",
                "use the network: it has no network; to allow it, add --network",
            ),
            ("import os; os.fork()", "start a process: it may not start programs; to allow it, add --spawn"),
            (
                "import os; os.execv('/bin/true', ['true'])",
                "run /bin/true: it may not start programs; to allow it, add --spawn",
            ),
            ("import os; os.kill(1, 0)", "signal process 1: signals only to itself"),
            ("import os; os.setuid(7)", "change its user or group to id 7: it stays who it is"),
            (
                "import os; os.chmod('note', 0)",
                f"change the mode of {self.work}/note: the workspace may only be read; to allow it, add --write",
            ),
            (
                "open('/etc/new', 'w')",
                "write /etc/new: outside what it may write; to allow it, name the directory with "
                "--workspace and add --write",
            ),
        ):
            done = self.violates(level, "-w", self.work, "--", PYTHON, "-c", code, cwd=self.work)
            self.assertEqual(done.err.splitlines()[-1], f"sandbox_violation: python3 tried to {words}")

    @at_each_level
    def test_who_looks_up_a_name_lacks_the_network(self, level):
        """Not /etc/host.conf, nor whatever else the library in use touches first."""
        lookup = "socket.getaddrinfo('host.invalid', 80)"
        tried = [
            ["getent", "hosts", "host.invalid"],
            [PYTHON, "-c", f"import socket; {lookup}"],
            [PYTHON, "-c", "import urllib.request; urllib.request.urlopen('http://host.invalid/')"],
            [PYTHON, "-c", "import socket; socket.getaddrinfo('localhost', 80)"],
            ["node", "-e", "require('http').get('http://host.invalid/')"],
            ["node", "-e", "require('dns').resolve4('host.invalid', () => {})"],
            ["curl", "-q", "-s", "http://host.invalid/"],
            ["git", "ls-remote", "git://host.invalid/x"],
        ]
        for command in tried:
            with self.subTest(command=command):
                if not shutil.which(command[0]):
                    self.skipTest(f"{command[0]} is not here")
                done = self.violates(
                    level, "-w", self.work, "--env", "GIT_CONFIG_NOSYSTEM=1", "--", *command, cwd=self.work
                )
                self.assertRegex(
                    done.err.splitlines()[-1],
                    r"tried to (look up a name on|use) the network.*: it has no network; to allow it, add --network$",
                )

    @at_each_level
    def test_who_only_reads_does_not_look_up(self, level):
        """Names of services' switch, and addresses, ask nobody."""
        code = "import socket; open('/etc/nsswitch.conf').close(); print(socket.getaddrinfo('127.0.0.1', 80)[0][4])"
        done = self.jail(level, "--", PYTHON, "-c", code)
        self.assertEqual((done.code, done.out), (0, "('127.0.0.1', 80)\n"), done.err)
        done = self.jail(level, "--read", "/etc/hosts", "--", "cat", "/etc/hosts")
        self.assertEqual(done.code, 0, done.err)

    def violates(self, level, *args, **how):
        done = self.jail(level, "--on-denial=kill", *args, **how)
        self.assertEqual(done.code, 9, done.err)
        self.assertRegex(done.err.splitlines()[-1], r"^sandbox_violation: \S+ tried to ")
        return done

    def records(self, level, *args, **how):
        """Those on --record-fd. With --json the last one is also the last line on stderr."""
        with open(self.dir / "records", "w+b") as f:
            done = self.jail(
                level, "--json", "--record-fd", str(f.fileno()), *args, pass_fds=[f.fileno()], **how
            )
            f.seek(0)
            records = [json.loads(line) for line in f]
        self.assertEqual(json.loads(done.err.splitlines()[-1]), records[-1])
        self.assertEqual(records[-1]["exit_code"], done.code)
        self.last = done
        return records

    def sh(self, level, script, *options, **how):
        return self.jail(level, *options, "--", "/bin/sh", "-c", script, **how)

    @at_each_level
    def test_exit_status_and_streams(self, level):
        done = self.sh(level, "read x; echo got $x; echo err >&2; exit 7", stdin=b"hello\n")
        self.assertEqual((done.code, done.out, done.err), (7, "got hello\n", "err\n"))
        self.assertEqual(self.sh(level, "exit 0").code, 0)

    @at_each_level
    def test_signal(self, level):
        self.assertEqual(self.sh(level, "kill -SEGV $$").code, 128 + signal.SIGSEGV)

    def test_auto_takes_the_best(self):
        done = self.run_mortise("jail", "-v", "--", "/bin/true")
        self.assertEqual((done.code, done.err), (0, f"true: ended with 0 at level {LEVELS[-1]}\n"))

    @at_each_level
    def test_read_outside(self, level):
        done = self.violates(level, "-w", self.work, "--", "/bin/cat", self.dir / "secret")
        self.assertIn(f"cat tried to read {self.dir}/secret: ", done.err)
        self.assertEqual(len(done.error_lines), 1, done.err)
        self.assertEqual(done.out, "")

    @at_each_level
    def test_record(self, level):
        records = self.records(level, "--on-denial=kill", "--", "/bin/cat", "/etc/shadow")
        violation, end = records
        self.assertEqual(
            set(violation), {"event", "plugin", "syscall", "path", "rule", "kind", "allow", "action"}
        )
        self.assertEqual(
            [violation[name] for name in ("event", "plugin", "path", "action", "allow")],
            ["sandbox_violation", "cat", "/etc/shadow", "killed", "add --read /etc/shadow"],
        )
        self.assertTrue(violation["syscall"].startswith("open"), violation)
        self.assertEqual(
            [end[name] for name in ("event", "exit_code", "ended_by", "level")],
            ["jail_end", 9, "violation", level],
        )

    @at_each_level
    def test_denied(self, level):
        """The call fails, the program goes on, and one line says what would have allowed it."""
        gone = "No such file or directory" if level == "t1" else "Permission denied"
        done = self.sh(
            level, f"cat {self.dir}/secret; read x <{self.dir}/secret; echo on", "--spawn", "-w", self.work
        )
        self.assertEqual((done.code, done.out), (0, "on\n"), done.err)
        self.assertIn(f"cat: {self.dir}/secret: {gone}", done.err)
        self.assertEqual(
            done.err.splitlines()[-1],
            f"denied: sh tried to read {self.dir}/secret (2 times); to allow it, add --read {self.dir}/secret",
        )

    @at_each_level
    def test_every_kind(self, level):
        """What each attempt gets in deny mode, and its kind; the table is in the guide."""
        for code, kind, error in (
            ("open('/etc/shadow')", "read", "ENOENT" if level == "t1" else "EACCES"),
            ("open('note', 'w')", "workspace_write", "EACCES"),
            ("os.chmod('note', 0)", "workspace_write", "EACCES"),
            ("os.mkdir('/usr/lib/new')", "write", "EACCES"),
            ("os.fork()", "spawn", "EACCES"),
            ("os.execv('/bin/true', ['true'])", "spawn", "EACCES"),
            ("socket.socket()", "network", "EACCES"),
            ("socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)", "family", "EAFNOSUPPORT"),
            ("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)", "raw_socket", "EPERM"),
            ("socket.socket(socket.AF_UNIX).connect('/run/docker.sock')", "unix_socket", "EACCES"),
            ("os.setresuid(7, 7, 7)", "identity", "EPERM"),
            ("os.kill(1, 0)", "probe", "ESRCH"),
            ("libc('unshare', 0x10000000)", "namespace", "EPERM"),
            ("os.chroot('.')", "namespace", "EPERM"),
            ("socket.sethostname('x')", "system", "EPERM"),
            ("os.pidfd_open(os.getpid())", "trace", "EPERM"),
        ):
            if container_refuses(code):
                continue
            with self.subTest(code=code):
                head = (
                    "import ctypes, errno, os, socket\ndef libc(name, *args):\n"
                    "    if ctypes.CDLL(None, use_errno=True)[name](*args) < 0: raise OSError(ctypes.get_errno(), '')"
                )
                script = f"{head}\ntry: {code}\nexcept OSError as e: print(errno.errorcode[e.errno])"
                end = self.records(level, "-w", self.work, "--", PYTHON, "-c", script, cwd=self.work)[-1]
                denied = end["denied"]["denials"]
                self.assertEqual([d["kind"] for d in denied], [kind], end)
                self.assertEqual((self.last.out.strip(), end["exit_code"]), (error, 0))
        for code, kind in (
            ("os.kill(1, 15)", "signal"),
            ("ctypes.CDLL(None).ptrace(16, 1, 0, 0)", "inspect"),
            ("ctypes.CDLL(None).syscall(250, 0, 0)", "keys"),
            ("ctypes.CDLL(None).mount(b'a', b'b', b'c', 0, None)", "mount"),
            ("ctypes.CDLL(None).syscall(321, 0, 0, 0)", "kernel"),
        ):
            for mode in () if container_refuses(code) else ("deny", "kill"):
                with self.subTest(code=code, mode=mode):
                    end = self.records(
                        level, "--on-denial", mode, "--", PYTHON, "-c", f"import ctypes, os; {code}"
                    )[-1]
                    self.assertEqual(
                        (end["exit_code"], end["ended_by"], end["violation"]["kind"]), (9, "violation", kind)
                    )
        if any(map(container_refuses, TRIED)):
            self.skipTest("the container refuses some calls before the jail; the others were tried")

    @at_each_level
    def test_many_denials(self, level):
        """A thousand are kept, each once; the rest is counted."""
        code = (
            "import os\nfor i in range(1500):\n"
            "    try: os.mkdir(f'/usr/lib/{i}')\n    except OSError: pass\n"
            "for i in range(70000):\n    try: os.mkdir('/usr/lib/7')\n    except OSError: pass"
        )
        *denied, end = self.records(level, "--", PYTHON, "-c", code)
        self.assertEqual(len(denied), 1000)
        self.assertEqual(len({record["path"] for record in denied}), 1000)
        told = end["denied"]
        self.assertEqual((told["kept"], told["total"], len(told["denials"])), (1000, 71500, 1000))
        self.assertEqual([d["count"] for d in told["denials"] if d["path"] == "/usr/lib/7"], [70001])

    @at_each_level
    def test_a_program_that_plays_us(self, level):
        """It prints our lines and exits with our status. The record says that it was the program."""
        code = "import sys; print('sandbox_violation: x tried to y', file=sys.stderr); sys.exit({})"
        for status in 9, 124, 125:
            end = self.records(level, "--", PYTHON, "-c", code.format(status))[-1]
            self.assertEqual((end["exit_code"], end["ended_by"]), (status, "program"))
        end = self.records(level, "--limit", "wall=200ms", "--", "/bin/sleep", "60")[-1]
        self.assertEqual((end["exit_code"], end["ended_by"], end["limits"]), (124, "limit", ["wall"]))

    @at_each_level
    def test_nobody_reads_the_records(self, level):
        """Not a reason to end, or to hang."""
        ours, theirs = os.pipe()
        os.close(ours)
        done = self.sh(level, "echo fine", "--record-fd", str(theirs), pass_fds=[theirs])
        os.close(theirs)
        self.assertEqual((done.code, done.out), (0, "fine\n"), done.err)

    def flood_records(self, level, *options):
        """More records than a pipe holds, and nobody has read one. The process, and the pipe's end."""
        code = (
            "import os, signal\n"
            "for n in range(300):\n"
            "    try: os.mkdir(f'/usr/lib/{n:0200}')\n"
            "    except OSError: pass\n"
            "print('done', flush=True)\n"
            "signal.pause()\n"
        )
        ours, theirs = os.pipe()
        process = subprocess.Popen(
            [MORTISE, "jail", "--level", level, "--record-fd", str(theirs), *options, "--", PYTHON, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[theirs],
            env=self.env,
        )
        os.close(theirs)
        return process, open(ours)

    @at_each_level
    def test_a_full_pipe_holds_up_no_limit(self, level):
        for limit in ("1s", "10s", "100s"):  # it needs more where the machine is busy
            process, records = self.flood_records(level, "--limit", f"wall={limit}")
            with records:
                self.assertIn(b"denied: ", process.stderr.readline())  # it has ended
                last = json.loads(records.readlines()[-1])
            if process.communicate()[0] == b"done\n":
                break
        self.assertEqual((last["event"], last["denied"]["total"]), ("jail_end", 300))
        self.assertEqual((last["exit_code"], process.returncode), (124, 124))

    @at_each_level
    def test_a_full_pipe_holds_up_no_signal(self, level):
        process, records = self.flood_records(level)
        with records:
            self.assertEqual(process.stdout.readline(), b"done\n")
            process.terminate()
            process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)

    @at_each_level
    def test_workspace(self, level):
        self.assertEqual(
            self.jail(level, "-w", self.work, "--", "/bin/cat", self.work / "note").out, "inside\n"
        )
        done = self.violates(level, "-w", self.work, "--", "/bin/sh", "-c", "echo x >new")
        self.assertIn("tried to write", done.err)
        self.assertFalse((self.work / "new").exists())

    @at_each_level
    def test_workspace_is_the_directory(self, level):
        (self.work / "sub").mkdir(exist_ok=True)
        for here, want in (
            (self.dir, self.work),
            (self.work, self.work),
            (self.work / "sub", self.work / "sub"),
        ):
            done = self.sh(level, "pwd", "-w", self.work, cwd=here)
            self.assertEqual((done.code, done.out.strip()), (0, str(want)), done.err)

    @at_each_level
    def test_program_is_the_one_seen_from_here(self, level):
        """It runs in the workspace, where the name as it was typed would lead nowhere."""
        shutil.copy("/bin/true", self.dir / "here")
        (self.dir / "here.py").write_text("import os, sys; print(os.getcwd(), sys.argv[1:])")
        self.assertEqual(self.jail(level, "-w", self.work, "--", "./here").code, 0)
        self.assertEqual(self.jail(level, "-w", self.work, "--", "../here", cwd=self.work).code, 0)
        done = self.jail(level, "-w", self.work, "--", "./here.py", "x")
        self.assertEqual((done.code, done.out), (0, f"{self.work} ['x']\n"), done.err)
        done = self.jail(level, "-w", self.work, "--", "./nowhere")
        self.assertEqual((done.code, done.err), (127, f"not_found: {self.dir}/nowhere: no such file\n"))

    @at_each_level
    def test_write(self, level):
        self.assertEqual(self.sh(level, f"echo {level} >made", "-w", self.work, "--write").code, 0)
        self.assertEqual((self.work / "made").read_text(), f"{level}\n")
        (self.work / ".git" / "hooks").mkdir(parents=True, exist_ok=True)
        self.violates(
            level, "-w", self.work, "--write", "--", "/bin/sh", "-c", "echo x >.git/hooks/post-commit"
        )
        self.assertEqual(os.listdir(self.work / ".git" / "hooks"), [])
        self.violates(level, "-w", self.work, "--write", "--", "/bin/sh", "-c", f"echo x >{self.dir}/elsewhere")
        self.assertFalse((self.dir / "elsewhere").exists())

    @at_each_level
    def test_read_and_plugin_dir(self, level):
        for option in (("--read", self.dir / "secret"), ("--read", self.dir), ("--plugin-dir", self.dir)):
            done = self.jail(level, *option, "--", "/bin/cat", self.dir / "secret")
            self.assertEqual((done.code, done.out), (0, "outside\n"), done.err)

    @at_each_level
    def test_script_of_an_interpreter(self, level):
        """Beside a lonely script Python must not look around; in a workspace it may."""
        script = self.file(
            "elsewhere/s.py",
            "import sys, socket\ntry:\n    import other\nexcept ImportError:\n    print('alone')\n",
        )
        self.file("elsewhere/other.py", "print('both')\n")
        for words, out in (
            (["--", PYTHON, script], "alone\n"),
            (["-w", script.parent, "--", PYTHON, script], "both\n"),
            (["--plugin-dir", script.parent, "--", PYTHON, script], "both\n"),
            (["--", PYTHON, "-c", "import socket; print('alone')"], "alone\n"),
        ):
            done = self.jail(level, *words)
            self.assertEqual((done.code, done.out), (0, out), done.err)

    @at_each_level
    def test_network(self, level):
        script = self.file(
            "n.py",
            "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_STREAM).close()\nprint('socket')\n",
        )
        done = self.violates(level, "--", PYTHON, script)
        self.assertIn("tried to use the network", done.err)
        done = self.jail(level, "--network", "--", PYTHON, script)
        self.assertEqual((done.code, done.out), (0, "socket\n"), done.err)

    @at_each_level
    def test_spawn(self, level):
        self.violates(level, "--", "/bin/sh", "-c", "/bin/true; echo no")
        done = self.sh(level, "/bin/echo one; exit 3", "--spawn")
        self.assertEqual((done.code, done.out), (3, "one\n"), done.err)

    @at_each_level
    def test_shim(self, level):
        """A program that pyenv has put in front of another one, and env: what they would run is run."""
        home = self.dir / f"pyenv-{level}"
        (home / "shims").mkdir(parents=True)
        (home / "versions/9.9/bin").mkdir(parents=True)
        (home / "versions/9.9/bin/python9").symlink_to(PYTHON)
        (home / "version").write_text("9.9\n")
        shim = home / "shims/python9"
        shim.write_text(f'#!/bin/bash\nexec "{home}/libexec/pyenv" exec "python9" "$@"\n')
        shim.chmod(0o755)
        path = {"PATH": f"{home}/shims:/usr/bin:/bin"}
        for words in (["python9"], ["/usr/bin/env", "python9"], [shim]):
            done = self.jail(level, "--", *words, "-c", "print(6 * 7)", env=path)
            self.assertEqual((done.code, done.out), (0, "42\n"), done.err)

    @at_each_level
    def test_bash(self, level):
        done = self.jail(level, "--env", "SHELL=/bin/sh", "--", "/bin/bash", "-c", "echo one")
        self.assertEqual((done.code, done.out), (0, "one\n"), done.err)

    @at_each_level
    def test_a_shell_that_finds_nothing_is_told_why(self, level):
        note = "note: sh cannot start other programs: add --spawn to allow it"
        self.assertEqual(self.jail(level, "--", "/bin/sh", "-c", "exit 127").err, note + "\n")
        self.assertEqual(self.jail(level, "--spawn", "--", "/bin/sh", "-c", "exit 127").err, "")

    @at_each_level
    def test_limits(self, level):
        done = self.jail(level, "--limit", "wall=300ms", "--", "/bin/sleep", "60")
        self.assertEqual(done.code, 124)
        self.assertTrue(done.err.startswith("timeout: sleep: "), done.err)
        done = self.sh(level, "while :; do :; done", "--limit", "cpu=1s")
        self.assertEqual(done.code, 128 + signal.SIGXCPU, done.err)
        self.assertEqual(done.err, "limit: sh reached its limit of cpu\n")
        done = self.jail(
            level,
            "--limit",
            "files=20",
            "--",
            PYTHON,
            "-c",
            "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[1])",
        )
        self.assertEqual((done.code, done.out), (0, "20\n"), done.err)
        done = self.jail(level, "--limit", "memory=64MiB", "--", PYTHON, "-c", "x = bytearray(1 << 28)")
        self.assertEqual(done.code, 1, done.err)
        self.assertIn("MemoryError", done.err)

    @at_each_level
    def test_scratch(self, level):
        script = 'echo "$HOME"; echo x >"$TMPDIR/f"; [ "$HOME" = "$TMPDIR" ] && [ -s "$HOME/f" ]'
        mine = self.dir / "scratch"
        mine.mkdir(exist_ok=True)
        done = self.sh(level, script)
        self.assertEqual(done.code, 0, done.err)
        self.assertFalse(os.path.exists(done.out.strip()), "the scratch directory is still there")
        done = self.sh(level, script, "--scratch", mine)
        self.assertEqual((done.code, done.out.strip()), (0, str(mine)), done.err)
        self.assertEqual((mine / "f").read_text(), "x\n")
        (mine / "f").unlink()

    @at_each_level
    def test_environment(self, level):
        done = self.jail(
            level,
            "--env",
            "A=1",
            "--env",
            "PASSED",
            "--",
            "/usr/bin/env",
            env={"TOKEN": "secret", "PASSED": "yes", "LD_LIBRARY_PATH": "/x"},
        )
        names = dict(line.split("=", 1) for line in done.out.splitlines())
        self.assertEqual((names["A"], names["PASSED"], names["PATH"]), ("1", "yes", "/usr/bin:/bin"))
        self.assertNotIn("TOKEN", names)
        self.assertNotIn("LD_LIBRARY_PATH", names)

    @at_each_level
    def test_nothing_is_left(self, level):
        """A daemon that left its session holds our stdout open: run_mortise() would wait for it."""
        done = self.sh(level, f"setsid sleep {10 * LIMIT} & exit 0", "--spawn")
        self.assertEqual(done.code, 0, done.err)

    @at_each_level
    def test_signals_reach_it(self, level):
        with subprocess.Popen(
            [str(MORTISE), "jail", "--level", level, "--", "/bin/sh", "-c", "echo up; exec 2>&-; read x"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env,
        ) as run:
            self.assertEqual(run.stdout.readline(), b"up\n")
            run.send_signal(signal.SIGINT)
            self.assertEqual(run.wait(LIMIT), 128 + signal.SIGTERM)

    def test_a_signal_at_any_time(self):
        """However early it comes, it is not lost: the command dies of it, or ends the program with SIGTERM."""
        for ms in range(0, 30, 3):
            with subprocess.Popen(
                [str(MORTISE), "jail", "--", "/bin/sh", "-c", "read x"],
                stdin=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.env,
            ) as run:
                time.sleep(ms / 1000)
                run.send_signal(signal.SIGINT)
                self.assertIn(run.wait(LIMIT), (-signal.SIGINT, 128 + signal.SIGTERM), ms)

    @at_each_level
    def test_second_signal_kills(self, level):
        script = "trap '' TERM; echo up; while :; do read x; done"
        with subprocess.Popen(
            [str(MORTISE), "jail", "--level", level, "--", "/bin/sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.env,
        ) as run:
            self.assertEqual(run.stdout.readline(), b"up\n")
            run.send_signal(signal.SIGTERM)
            run.send_signal(signal.SIGINT)
            self.assertEqual(run.wait(LIMIT), 128 + signal.SIGKILL)

    @at_each_level
    def test_host_killed(self, level):
        """SIGKILL to the command: the program's end of the pipe closes."""
        with subprocess.Popen(
            [str(MORTISE), "jail", "--level", level, "--", "/bin/sh", "-c", "echo up; read x"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.env,
        ) as run:
            self.assertEqual(run.stdout.readline(), b"up\n")
            run.kill()
            self.assertEqual(run.stdout.read(), b"")

    def test_terminal(self):
        done = self.in_terminal("jail", "--on-denial=kill", "--", "/bin/cat", "/etc/shadow")
        self.assertEqual(done.code, 9)
        self.assertTrue(
            without_color(done.out).startswith("sandbox_violation: cat tried to read /etc/shadow"), done.out
        )

    def test_landlock_abi_capped(self):
        if "t0" in LEVELS:
            self.assertEqual(self.jail("t0", "--landlock-abi", 2, "--", "/bin/true").code, 0)
            self.violates("t0", "--landlock-abi", 2, "--", "/bin/cat", "/etc/shadow")

    @unittest.skipUnless(shutil.which("unshare"), "needs unshare(1)")
    def test_refused_where_it_cannot_be(self):
        """Without user namespaces t1 is refused, t0 and auto work."""
        script = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"'
        prefix = ["unshare", "-r", "sh", "-c", script, "sh"]
        if subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no user namespaces at all")

        def run(*words):
            return subprocess.run(
                [*prefix, str(MORTISE), "jail", *words, "--", "/bin/echo", "ran"],
                capture_output=True,
                text=True,
                env=self.env,
                timeout=LIMIT,
                check=False,
            )

        done = run("--level", "t1")
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertRegex(done.stderr, r"^jail: .*namespace")
        done = run("-v")
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)
        self.assertIn("level t0", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv(1)")
    @unittest.skipUnless("t1" in LEVELS, "no namespace can be made here")
    def test_pidns_of_a_root_that_may_little(self):
        """As in a container: it needs a user namespace for it, like any user."""
        done = subprocess.run(
            [
                "setpriv",
                "--bounding-set=-sys_admin",
                MORTISE,
                "jail",
                "--level=t0",
                "--pidns",
                "--",
                "/bin/true",
            ],
            capture_output=True,
            text=True,
            env=self.env,
            timeout=LIMIT,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv(1)")
    @at_each_level
    def test_as_nobody(self, level):
        for program, code in ((["/bin/true"], 0), (["/bin/cat", "/etc/shadow"], 9)):
            done = subprocess.run(
                [
                    "setpriv",
                    "--reuid",
                    "65534",
                    "--regid",
                    "65534",
                    "--clear-groups",
                    str(MORTISE),
                    "jail",
                    "--on-denial=kill",
                    "--level",
                    level,
                    "--",
                    *program,
                ],
                capture_output=True,
                text=True,
                cwd="/",
                env={**self.env, "XDG_CONFIG_HOME": "/nonexistent"},
                timeout=LIMIT,
                check=False,
            )
            if (
                done.returncode == 126
                or "Permission denied" in done.stderr
                and "setpriv" in done.stderr
                or "mortise-jail, the helper that sets up the jail: Permission denied" in done.stderr
            ):
                self.skipTest("nobody cannot reach the build directory")
            self.assertEqual(done.returncode, code, done.stderr)


class Options(Case):
    """--confine, --level, --pidns, --unconfined and [sandbox] for plugins."""

    def told(self, *words, warns=""):
        done = self.run_mortise("info", "--no-start", "--json", ECHO, *words)
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(done.err, warns)
        return done.json

    def test_default_is_guarded(self):
        confinement = self.told()["confinement"]
        self.assertEqual((confinement["level"], confinement["policy"]["network"]), ("guarded", None))
        self.assertRegex(confinement["text"], "not confined")

    def test_sugar(self):
        for words, level in (
            (["--confine"], "auto"),
            (["--level", "t0"], "t0"),
            (["--confine", "--level", "t1"], "t1"),
            (["--set", "sandbox.network=false"], "auto"),
            (["--set", "sandbox.memory=1GiB"], "guarded"),
        ):
            policy = self.told(*words)["confinement"]["policy"]
            self.assertEqual(policy["level"], level, words)
            self.assertEqual(policy["network"], None if level == "guarded" else False)
        self.assertTrue(self.told("--pidns")["confinement"]["policy"]["pidns"])
        self.assertIn("together", self.fails(2, "usage", "info", ECHO, "--confine", "--level", "guarded").err)

    def test_unconfined_is_never_silent(self):
        warns = "warning: --unconfined: no permission of the plugin is enforced; it may do whatever you may\n"
        told = self.told("--unconfined", "--confine", "--set", "sandbox.network=false", warns=warns)
        self.assertEqual(told["confinement"]["level"], "guarded")
        self.assertTrue(told["confinement"]["policy"]["unconfined"])
        self.assertRegex(told["warnings"][0], "^unconfined: echo may do whatever")
        done = self.run_mortise("call", "--unconfined", ECHO, "echo", "a=1")
        self.assertEqual((done.code, done.err), (0, warns))
        page = self.run_mortise("info", "--no-start", "--unconfined", ECHO).out
        self.assertIn("as asked: --unconfined", page)

    @unittest.skipUnless(LEVELS, "this machine cannot confine")
    def test_violation_after_the_answer(self):
        """The page is told; but who ends by a violation has not done well."""
        late = self.file("late.py", "import sys\nsys.stdin.read()\nopen('/etc/shadow')\n")
        for words in ([], ["--json"]):
            done = self.run_mortise("info", "--confine", "--on-denial=kill", *words, late)
            self.assertEqual(done.code, 9, done.err)
            self.assertRegex(
                done.error_lines[-1], r"^sandbox_violation: late tried to read /etc/shadow: not in sandbox.read"
            )
            self.assertIn("late", done.json["name"] if words else done.out)

    def test_page(self):
        page = self.ok(
            "info", "--no-start", ECHO, "--confine", "--set", "sandbox.workspace=.", "--set", "sandbox.cpu=9s"
        ).out
        for text in (
            f"may read the workspace {self.dir}",
            "may not write in the workspace",
            "may not use the network",
            "may not start programs",
            "processor time: at most 9 s",
        ):
            self.assertIn(text, page)

    def test_faults_have_their_line(self):
        where = self.plugin("p")
        self.file("p/mortise.toml", '[sandbox]\nnetwork = false\nread = ["data"]\n')
        self.assertIn(
            'p/mortise.toml:3: sandbox.read is "data": it must be an absolute path',
            self.fails(3, "manifest", "info", where).err,
        )
        self.assertIn("did you mean", self.fails(2, "usage", "info", where, "--set", "sandbox.netwrk=true").err)

    def test_missing_path_is_a_warning(self):
        self.assertEqual(
            self.told("--set", "sandbox.read=/no/such")["warnings"],
            ["/no/such: there is no such path, so nothing can be read there"],
        )

    @at_each_level
    def test_confined_plugin(self, level):
        done = self.ok("call", "--level", level, ECHO, "echo", "a=1", "--json")
        self.assertIn('"a"', done.out)
        self.assertEqual(self.ok("info", "--level", level, ECHO, "--json").json["confinement"]["level"], level)

    @at_each_level
    def test_confined_command_line(self, level):
        """Only the script may be read, and Python does not look around beside it."""
        script = self.file("lonely.py", ECHO.read_bytes())
        done = self.run_mortise("info", "--level", level, "--json", "--", PYTHON, script)
        self.assertEqual((done.code, done.json["state"]), (0, "ready"), done.err)

    THIEF = "import sys\nsys.stdin.readline()\nopen('/etc/shadow')\n"

    def kills(self, level, *args):
        return self.fails(
            9, "sandbox_violation", "call", *args, "--on-denial=kill", "--level", level, self.thief(), "echo"
        )

    def thief(self):
        return self.file("thief.py", self.THIEF)

    @at_each_level
    def test_violation_of_a_plugin(self, level):
        self.assertIn("thief tried to read /etc/shadow", self.kills(level).err)
        told = self.kills(level, "--json").json
        self.assertEqual(
            (told["kind"], told["data"]["event"], told["data"]["plugin"], told["data"]["path"]),
            ("sandbox_violation", "sandbox_violation", "thief", "/etc/shadow"),
        )

    @at_each_level
    def test_violation_is_a_record(self, level):
        """One line for people; the record as the data of the failure, and as an event for who looks on."""
        self.assertEqual(
            self.kills(level).err.splitlines(),
            [
                "sandbox_violation: thief tried to read /etc/shadow: not in sandbox.read; to allow it, "
                "add \"/etc/shadow\" to read under [sandbox] in its mortise.toml"
            ],
        )
        record = {
            "event": "sandbox_violation",
            "plugin": "thief",
            "syscall": "openat",
            "path": "/etc/shadow",
            "rule": "not in sandbox.read",
            "kind": "read",
            "allow": "add \"/etc/shadow\" to read under [sandbox] in its mortise.toml",
            "action": "killed",
        }
        self.assertEqual(self.kills(level, "--json").json["data"], record)
        self.assertEqual(self.events(level, "--on-denial=kill"), [record])
        self.assertEqual(self.events(level), [{**record, "action": "denied"}])

    def events(self, level, *args):
        lines = self.run_mortise(
            "call", "--verbose", "--level", level, *args, self.thief(), "echo"
        ).err.splitlines()
        return [json.loads(line.partition(": ")[2]) for line in lines if line.startswith('thief: {"event"')]

    @at_each_level
    def test_denied_to_a_plugin(self, level):
        """It goes on, and what was denied is summed up when it has ended: for people, and with --json."""
        answers = (
            "import json, sys\nfor _ in range(2):\n    try: open('/etc/shadow')\n    except OSError: pass\n"
            "call = json.loads(sys.stdin.readline())\n"
            "print(json.dumps({'jsonrpc': '2.0', 'id': call['id'], 'result': 'fine'}), flush=True)\n"
        )
        plugin = self.file("polite.py", answers)
        done = self.run_mortise("call", "--level", level, plugin, "echo")
        self.assertEqual((done.code, done.out), (0, '"fine"\n'), done.err)
        self.assertEqual(
            done.err,
            'denied: polite tried to read /etc/shadow (2 times); to allow it, add "/etc/shadow" to read under '
            "[sandbox] in its mortise.toml\n",
        )
        done = self.run_mortise("call", "--json", "--level", level, plugin, "echo")
        self.assertEqual((done.code, done.json["ok"]), (0, True), done.err)
        told = json.loads(done.err)
        self.assertEqual(
            (told["event"], told["total"], told["denials"][0]["count"], told["denials"][0]["kind"]),
            ("sandbox_denials", 2, 2, "read"),
        )


if __name__ == "__main__":
    unittest.main()
