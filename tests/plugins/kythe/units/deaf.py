# SPDX-License-Identifier: Apache-2.0
# Half a record, and then nothing ends it but SIGKILL.
import signal

signal.signal(signal.SIGTERM, signal.SIG_IGN)
out.raw(b"\x05")
done()
while True:
    signal.pause()
