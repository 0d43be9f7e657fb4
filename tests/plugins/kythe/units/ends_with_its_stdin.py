# SPDX-License-Identifier: Apache-2.0
# Is here; while the gate is closed it waits for the end of its stdin, and leaves.
here()
if not may_go():
    wire.until_closed()
    raise SystemExit
