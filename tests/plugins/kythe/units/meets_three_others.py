# SPDX-License-Identifier: Apache-2.0
# number: of the unit. Each looks at its own file when four are here at once.
others = ["%d" % (number + i) for i in range(1, 4)] if number % 4 == 0 else []
for other in others:
    hear(other)
for other in others:
    tell("go" + other)
if not others:
    tell("%d" % number)
    hear("go%d" % number)
out.fact("/h", open("/src/h").read(), path=str(number))
