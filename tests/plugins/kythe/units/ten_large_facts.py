# SPDX-License-Identifier: Apache-2.0
# number: which unit it is. One attempt of the third ends in half a record.
for i in range(number * 10, number * 10 + 10):
    out.fact("/big", bytes([i]) * (999000 + i))
if number == 2 and attempt == 1:
    out.raw(b"\x20half")
