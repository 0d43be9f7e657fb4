# SPDX-License-Identifier: Apache-2.0
import os

fd = os.open(unit["output"], os.O_WRONLY | os.O_APPEND)
done()
wire.answer(wire.ask("vname", path="x", signature=""))  # done has been dealt with
for i in range(200):
    os.write(fd, b"\x20more")
