# SPDX-License-Identifier: Apache-2.0
# number: of all units. One of four ends only when the fifth after it has begun, and so others have ended.
if number >= 5 and (number - 5) % 4 == 0:
    tell("%d" % number)
if number % 4 == 0 and number + 5 < count:
    hear("%d" % (number + 5))
