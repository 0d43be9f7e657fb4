# SPDX-License-Identifier: Apache-2.0
# change: what is done to the output, fd, when the driver has dealt with done.
import os

fd = os.open(unit["output"], os.O_WRONLY)
done()
wire.answer(wire.ask("vname", path="x", signature=""))
exec(change)
tell("changed")
