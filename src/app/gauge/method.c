/* SPDX-License-Identifier: Apache-2.0 */
/* Which method to call if the user names none: it must do nothing but answer. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dialect/dialect.h"
#include "gauge/gauge.h"

#define SHOWN 12 /* names in the text of an error */

static const struct mor_method *row_with_role(const struct mor_dialect *dialect, enum mor_role role)
{
	for (const struct mor_method *row = dialect->methods; row->name; row++)
		if (row->from == MOR_FROM_HOST && row->role == role)
			return row;
	return NULL;
}

int mor_gauge_is_called(const char *name, mortise_error *err)
{
	const struct mor_dialect *dialect;
	int r = mor_dialect_require(name, &dialect, err);

	if (r < 0)
		return r;
	for (const struct mor_method *row = dialect->methods; row->name; row++)
		if (row->from == MOR_FROM_HOST)
			return 0;
	return mor_fail(
		err, MORTISE_EUNSUPPORTED,
		"plugins of the dialect %s are not called: they ask for their work themselves, so there is no "
		"call to measure; 'mortise index --json' tells what an analyzer and its driver use",
		name);
}

/* One per line to "a, b, c, ..." */
static void list_names(struct mor_slice offers, struct mor_buf *out)
{
	for (int i = 0; offers.len; i++) {
		if (i == SHOWN) {
			mor_buf_text(out, ", ...");
			return;
		}
		mor_buf_text(out, i ? ", " : "");
		mor_buf_slice(out, mor_slice_cut(&offers, '\n'));
	}
}

#define NAME_IT "name the METHOD to measure: %s has none that is known to do no harm"

static int ask_for_method(const struct mor_dialect *dialect, const char *plugin, struct mor_slice offers,
			  mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;

	list_names(offers, &names);
	if (mor_buf_failed(&names))
		return mor_fail_memory(err);
	if (names.len)
		return mor_fail(err, MORTISE_EINVAL, NAME_IT "; this plugin offers %.*s", dialect->name,
				(int)names.len, names.data);
	if (strcmp(dialect->name, "plain") == 0) /* also what nobody has said anything about */
		return mor_fail(err, MORTISE_EINVAL,
				NAME_IT "; if the plugin speaks another protocol, name that (--dialect; "
					"'mortise probe' finds it)",
				dialect->name);
	if (!plugin || !row_with_role(dialect, MOR_ROLE_HELLO)) /* then nobody can list them */
		return mor_fail(err, MORTISE_EINVAL, NAME_IT, dialect->name);
	return mor_fail(err, MORTISE_EINVAL, NAME_IT "; 'mortise info %s' shows what the plugin offers",
			dialect->name, plugin);
}

/* Without params the host sends its own for a ping. */
int mor_gauge_method(const char *name, const char *plugin, struct mor_slice offers,
		     struct mor_gauge_method *ret, mortise_error *err)
{
	const struct mor_dialect *dialect = mor_dialect_find(name);
	const struct mor_method *ping = row_with_role(dialect, MOR_ROLE_PING);

	*ret = (struct mor_gauge_method){ 0 };
	if (ping) {
		ret->name = ping->name;
	} else if (strcmp(name, "ayiou") == 0) {
		/* "Does this message concern you?": what the bot asks each plugin for every message. */
		ret->name = "matches";
		ret->params = "{\"text\":\"mortise bench\",\"message_type\":\"private\",\"user_id\":1}";
	}
	return ret->name ? 0 : ask_for_method(dialect, plugin, offers, err);
}
