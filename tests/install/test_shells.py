#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each shell finds the installed completion by itself, and man the pages. What is not here is
skipped by name."""
import os
import shutil
import unittest

from installed import Tree


BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class Shells(Tree):
    def share(self, *parts):
        return self.prefix.joinpath("share", *parts)

    @needs("bash")
    def test_bash(self):
        script = self.share("bash-completion/completions/mortise")
        ask = 'source "$1"; COMP_WORDS=(mortise expl); COMP_CWORD=1; _mortise; echo "${COMPREPLY[@]}"'
        self.assertEqual(self.ok("bash", "--norc", "-c", ask, "bash", script), "explain\n")

    @unittest.skipUnless(os.path.exists(BASH_COMPLETION), "bash-completion is not installed")
    def test_bash_completion_loads_it(self):
        ask = f". {BASH_COMPLETION}; _completion_loader mortise; complete -p mortise"
        shown = self.ok("bash", "--norc", "-c", ask, env={"XDG_DATA_DIRS": str(self.share())})
        self.assertIn("-F _mortise mortise", shown)

    @needs("zsh")
    def test_zsh(self):
        """compinit finds the file by its first line; then it runs without a complaint."""
        ask = """fpath=("$1" $fpath); autoload -Uz compinit; compinit -u -D; print -r -- $_comps[mortise]
            autoload +X -Uz _mortise && print loaded"""
        shown = self.ok("zsh", "-f", "-c", ask, "zsh", self.share("zsh/site-functions"))
        self.assertEqual(shown, "_mortise\nloaded\n")

    @needs("fish")
    def test_fish(self):
        env = {
            "XDG_DATA_DIRS": str(self.share()),
            "XDG_CONFIG_HOME": str(self.dir),
            "TERM": "dumb",
            "PATH": f"{self.mortise.parent}:/usr/bin:/bin",
        }
        shown = self.ok("fish", "-c", "complete -C 'mortise expl'", env=env)
        self.assertRegex(shown, r"^explain\t")

    @needs("man")
    def test_man(self):
        for page in ("mortise", "mortise-call", "mortise-jail"):
            found = self.ok("man", "-M", self.share("man"), "-w", page).strip()
            self.assertEqual(found, str(self.share("man/man1", f"{page}.1")))
        shown = self.ok("man", "-M", self.share("man"), "-P", "cat", "mortise-call", env={"MANWIDTH": "100"})
        self.assertIn("mortise", shown)


if __name__ == "__main__":
    unittest.main()
