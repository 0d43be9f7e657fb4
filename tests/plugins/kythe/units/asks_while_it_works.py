# SPDX-License-Identifier: Apache-2.0
# analyze, with another one under way.
answer = wire.answer(wire.ask("analyze"))
with open(state + "/answer", "a") as file:
    file.write(repr(answer) + "\n")
wire.until_closed()
raise SystemExit
