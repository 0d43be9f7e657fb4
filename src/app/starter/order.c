/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/near.h"
#include "base/text.h"
#include "starter/starter.h"

static const struct mor_starter_language languages[] = {
	{ "c", "C", "plugin", NULL, NULL },
	{ "python", "Python", "plugin.py", "python/tenon", "tenon" },
	{ "node", "Node", "plugin.js", "node", "node_modules/tenon" },
	{ 0 },
};

/* The rules are those of the specifications; where they have none, what is safe in paths and commands. */
static const struct mor_starter_dialect dialects[] = {
	{ "yams", true, "_" },               /* */
	{ "gassist", true, "_-" },           /* */
	{ "ayiou", false, "_-." },           /* */
	{ "sunscreen", false, "_-.+" },      /* */
	{ "sunscreen-json", false, "_-.+" }, /* */
	{ "kythe", false, "_-." },           /* */
	{ "plain", false, "_-." },           /* */
	{ 0 },
};

static bool is_allowed(char c, bool first, const struct mor_starter_dialect *dialect)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
		return true;
	if (first)
		return c >= '0' && c <= '9' && !dialect->letter_first;
	return (c >= '0' && c <= '9') || strchr(dialect->extra, c);
}

static int check_name(const struct mor_starter_order *order, mortise_error *err)
{
	const struct mor_starter_dialect *dialect = order->dialect;
	char shown[100];

	for (const char *c = order->name; *c; c++)
		if (!is_allowed(*c, c == order->name, dialect))
			return mor_fail(err, MORTISE_EINVAL,
					"NAME \"%s\": a %s plugin's name begins with a letter%s; then only "
					"letters, digits and these: %s",
					mor_excerpt(mor_slice_of(order->name), shown, sizeof(shown)),
					dialect->name, dialect->letter_first ? "" : " or digit",
					dialect->extra);
	return *order->name ? 0 : mor_fail(err, MORTISE_EINVAL, "NAME must not be empty");
}

/* The last part of a path, without slashes at its end. */
static char *last_part(const char *path)
{
	size_t end = strlen(path), begin;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && path[begin - 1] != '/';)
		begin--;
	return mor_strndup(path + begin, end - begin);
}

/* Both tables have rows that begin with a name. (Copied: a cast of the row crashes clang-tidy 14.) */
static const char *name_of(const void *row)
{
	const char *name;

	memcpy(&name, row, sizeof(name));
	return name;
}

static const void *find_row(const void *rows, size_t size, const char *word)
{
	for (const char *row = rows; name_of(row); row += size)
		if (strcmp(name_of(row), word) == 0)
			return row;
	return NULL;
}

static int refuse_word(const char *what, const char *word, const void *rows, size_t size, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;
	struct mor_nearest near = { .word = word ? word : "" };
	const char *best;
	char shown[60];

	for (const char *row = rows; name_of(row); row += size) {
		mor_nearest_offer(&near, name_of(row));
		mor_buf_printf(&names, "%s%s", names.len ? ", " : "", name_of(row));
	}
	mor_buf_byte(&names, '\0');
	if (mor_buf_failed(&names))
		return mor_fail_memory(err);
	if (!word)
		return mor_fail(err, MORTISE_EINVAL, "say %s: %s", what, names.data);
	best = mor_nearest_best(&near);
	mor_excerpt(mor_slice_of(word), shown, sizeof(shown));
	return best ? mor_fail(err, MORTISE_EINVAL, "\"%s\" is none of %s: did you mean \"%s\"?", shown,
			       names.data, best) :
		      mor_fail(err, MORTISE_EINVAL, "\"%s\" is none of %s", shown, names.data);
}

int mor_starter_order_take(struct mor_starter_order *order, const char *language, const char *dialect,
			   const char *path, mortise_error *err)
{
	order->language = language ? find_row(languages, sizeof(*languages), language) : NULL;
	order->dialect = dialect ? find_row(dialects, sizeof(*dialects), dialect) : NULL;
	if (!order->language)
		return refuse_word("in which LANGUAGE", language, languages, sizeof(*languages), err);
	if (!path)
		return mor_fail(err, MORTISE_EINVAL, "NAME the plugin: it becomes a folder of that name");
	if (!order->dialect)
		return refuse_word("with --dialect which protocol it speaks", dialect, dialects,
				   sizeof(*dialects), err);
	order->path = path;
	order->name = last_part(path);
	return order->name ? check_name(order, err) : mor_fail_memory(err);
}

void mor_starter_order_fini(struct mor_starter_order *order)
{
	mor_free(order->name);
	order->name = NULL;
}
