/* SPDX-License-Identifier: Apache-2.0 */
/* plain: any JSON-RPC 2.0 program. Nothing is known of its methods, so the harmless request is
 * an unknown one. */
#include "check/own.h"

static const struct mor_check_row rows[] = {
	{ .name = "call.named",
	  .title = "answers the functions named by --call",
	  .spec = "JSON-RPC 2.0, section 5",
	  .must = MOR_CHECK_PLAIN,
	  .fn = mor_check_calls,
	  .advice = "every request with an id is answered, with a result or an error" },
	{ 0 },
};

const struct mor_check_tongue mor_check_tongue_plain = {
	.dialect = MOR_CHECK_PLAIN,
	.name = "plain",
	.wire = "docs/dialects/plain.md, framing",
	.stop = "docs/dialects/plain.md, stop",
	.greet_id = "method.unknown",
	.probe = "\"method\":\"mortise.check\"",
	.call = "\"method\":%s,\"params\":{}",
	.rows = rows,
};
