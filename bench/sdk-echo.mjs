// SPDX-License-Identifier: Apache-2.0
// The echo of bench/sdk, with the Node package.
import { Plugin } from "../sdk/node/index.js";

const plugin = new Plugin({ name: "echo", version: "1.0.0" });

plugin.method("echo", (params) => params);
plugin.run();
