# SPDX-License-Identifier: Apache-2.0
# Asks for texts that are no types, and keeps the answers.
for types in (["/a//b"], ["/kythe/index/toy", "/x y"]):
    answer = wire.answer(wire.ask("analyze", types=types))
    with open(state + "/answers", "a") as file:
        file.write(repr(types[-1]) + " %d %s\n" % (answer["error"]["code"], answer["error"]["message"]))
