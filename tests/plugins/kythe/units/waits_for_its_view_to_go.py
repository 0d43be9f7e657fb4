# SPDX-License-Identifier: Apache-2.0
# After done: a change of the mounts is told by the list of them.
import os
import select

assert os.path.exists("/src/zz.h")
mounts = select.poll()
with open("/proc/self/mountinfo", "rb") as file:
    mounts.register(file, select.POLLPRI)
    done()
    wire.answer(wire.ask("vname", path="x", signature=""))
    while os.path.exists("/src/zz.h") and mounts.poll(30000):
        pass
with open(state + "/seen", "a") as file:
    file.write("%d" % os.path.exists("/src/zz.h"))
