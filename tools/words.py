# SPDX-License-Identifier: Apache-2.0
"""check words: turns of phrase that a reader has to guess at do not stand in comments of src, include, sdk,
tests and tools, nor on pages. Say the thing instead: who, which one, not one.
"""
import re

import citations

PLACES = re.compile(r"(src|include|sdk|docs|tests|tools)/|(README|CONTRIBUTING)\.md$")
TURNS = {  # what must not stand there: what to write
    r"(?:is|are|was|were|be) none(?! of)": "say which thing is missing, or what it is not",
    r"(?:is|are|was|were|be) none of": "say that it is not one of them",
    r"[Ww]ho(?:m|so)?ever": 'say who: "a plugin that", "the process that"',
    r"tells? of": 'say "shows", "names" or "reports"',
    r"in vain": "say what was tried and failed",
}
# A turn may go over the end of a line, where a comment has its mark again.
BLANK = r"\s+(?:[*#/]+\s+)?"
PATTERNS = [(re.compile(r"\b(?:%s)\b" % turn.replace(" ", BLANK)), instead) for turn, instead in TURNS.items()]
# At the left edge, so above a function: nothing before it says what is meant.
NO_NOUN = re.compile(r"^/\*\s+(?:\* )?(?:It|Its|They|Their|Them|Those|He|His)\b", re.M)
PATTERNS.append((NO_NOUN, "begin with the noun: nothing above says what this is"))


def check(root):
    faults = []
    for path, text in citations.files(root):
        if not PLACES.match(path):
            continue
        prose = citations.examples_blanked(path, citations.prose_of(path, text) or "")
        for pattern, instead in PATTERNS:
            for found in pattern.finditer(prose):
                number = prose.count("\n", 0, found.start()) + 1
                faults.append(f'{path}:{number}: "{re.sub(BLANK, " ", found.group())}": {instead}')
    return faults
