# SPDX-License-Identifier: Apache-2.0
# As RFC 2966 has it. The second request is never answered: there is nothing more in that language.
reply = wire.call("analyze", language="toy")
with open(state + "/reply", "w") as file:
    file.write(reply["input"])
wire.note("done")
wire.call("analyze", language="toy")
