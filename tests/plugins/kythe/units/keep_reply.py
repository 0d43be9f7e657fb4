# SPDX-License-Identifier: Apache-2.0
# Takes one record by itself and keeps the reply; for records that are no programs.
import json

while True:
    reply = wire.call("analyze", types=["/"])
    with open(state + "/reply", "a") as file:
        file.write(json.dumps(reply) + "\n")
    wire.note("done")
