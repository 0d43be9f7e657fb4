// SPDX-License-Identifier: Apache-2.0
const os = require("os"), path = require("path");
console.log(path.basename(process.cwd()), os.EOL.length, os.userInfo().uid === process.getuid());
