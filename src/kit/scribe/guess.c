/* SPDX-License-Identifier: Apache-2.0 */
/* Which dialect is it? Their tables know. */
#include "dialect/dialect.h"
#include "scribe/scribe.h"
#include "wire/envelope.h"

#define LENIENT (MOR_ENV_JSONRPC_OPTIONAL | MOR_ENV_ERROR_NULL_OK | MOR_ENV_NAN | MOR_ENV_RESULT_OPTIONAL)

static bool has_method(const struct mor_dialect *dialect, enum mor_side from, struct mor_slice name)
{
	for (const struct mor_method *row = dialect->methods; row->name; row++)
		if (row->from == from && mor_slice_is(name, row->name))
			return true;
	return false;
}

const char *mor_scribe_guess(enum mor_framing framing, bool to_plugin, struct mor_slice message)
{
	struct mor_message m = { 0 };

	if (mor_envelope_scan(message, LENIENT, 0, &m, NULL) < 0 || !m.method.ptr)
		return "plain";
	for (const struct mor_dialect *const *dialect = mor_dialects(); *dialect; dialect++)
		if ((*dialect)->link.framing == framing &&
		    has_method(*dialect, to_plugin ? MOR_FROM_HOST : MOR_FROM_PLUGIN, m.method))
			return (*dialect)->name;
	return "plain";
}
