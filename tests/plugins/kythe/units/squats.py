# SPDX-License-Identifier: Apache-2.0
# Fills the directory of its output.
import os

place = os.path.dirname(unit["output"])
os.mkdir(place + "/deep")
for i in range(30):
    with open(place + "/%d" % i, "a") as file:
        file.write("squatter")
os.symlink("/etc", place + "/link")
