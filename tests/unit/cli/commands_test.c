/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of commands, as they are linked into mortise and mortise-full, which has the entries of all:
 * whatever a row says is true of the struct that it fills, so that no option writes where another one lives,
 * and the help shows all of it.
 */
#include "leak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

#define EACH_COMMAND(c) for (const struct mor_cli_command *const *at = mor_cli_commands, *c; (c = *at); at++)

/* What an option fills; the size says how much of the struct is its own. */
static size_t kind_size(enum mor_opt_kind kind)
{
	switch (kind) {
	case MOR_OPT_FLAG:
		return sizeof(bool);
	case MOR_OPT_TEXT:
		return sizeof(const char *);
	case MOR_OPT_LIST:
	case MOR_OPT_SOME:
		return sizeof(struct mor_text_list);
	case MOR_OPT_UINT:
		return sizeof(uint32_t);
	case MOR_OPT_COUNT:
		return sizeof(struct mor_opt_count);
	case MOR_OPT_BYTES:
		return sizeof(uint64_t);
	case MOR_OPT_RATE:
		return sizeof(struct mor_opt_rate);
	}
	fail_msg("an option of no kind");
	return 0;
}

/* Calls `look` for each option of a command. */
typedef void look_fn(const struct mor_cli_command *c, const struct mor_option_group *g,
		     const struct mor_option *o, void *arg);
static void each_option(const struct mor_cli_command *c, look_fn *look, void *arg)
{
	for (const struct mor_option_group *g = c->options; g->title; g++)
		for (const struct mor_option *o = g->options; o->name; o++)
			look(c, g, o, arg);
}

static void commands_are_complete(void **state)
{
	(void)state;
	EACH_COMMAND(c)
	{
		size_t len = strlen(c->row->name);

		/* another program runs it, if this one does not */
		assert_true(mor_cli_run_of(c) || c->row->program != mor_cli_this);
		assert_true(*c->row->group && *c->row->summary && c->examples && *c->examples);
		assert_true(strncmp(c->usage, c->row->name, len) == 0 && strchr(" \n", c->usage[len]));
		assert_true(c->common + sizeof(struct mor_common_args) <= c->args_size);
		assert_true(!*c->words || strchr(c->words, '|') ||
			    mor_text_in(mor_slice_of(c->words), "plugin|installed|file|dialect|command"));
	}
}

static void commands_are_found_by_name(void **state)
{
	mortise_error err = { 0 };
	size_t count = 0;

	(void)state;
	EACH_COMMAND(c)
	{
		assert_ptr_equal(mor_cli_command_find(c->row->name), c); /* and so no two have one name */
		count++;
	}
	assert_true(count > 0);
	assert_null(mor_cli_command_find("cal"));
	assert_int_equal(mor_cli_command_unknown("cal", &err), MORTISE_EINVAL);
	assert_string_equal(err.text, "unknown command \"cal\"; did you mean call?");
	mor_cli_command_unknown("no-such-thing", &err);
	assert_string_equal(err.text, "unknown command \"no-such-thing\"");
}

static void look_complete(const struct mor_cli_command *c, const struct mor_option_group *g,
			  const struct mor_option *o, void *arg)
{
	(void)g, (void)arg;
	if (!o->help || !*o->help || (o->kind == MOR_OPT_FLAG) != !o->arg)
		fail_msg("%s --%s: a flag takes no argument, all else does, and all have help", c->row->name,
			 o->name);
	if (o->one_of && o->kind != MOR_OPT_TEXT)
		fail_msg("%s --%s: choices are for texts", c->row->name, o->name);
	if (mor_option_is_optional(o) && (o->letter || o->arg[0] != '['))
		fail_msg("%s --%s: a value that may be missing is attached with =", c->row->name, o->name);
}

static void options_are_complete(void **state)
{
	(void)state;
	EACH_COMMAND(c)
	each_option(c, look_complete, NULL);
}

struct seen {
	const struct mor_option *option[200];
	size_t count;
	unsigned char *taken; /* a byte of the command's struct that an option fills */
};

static void look_apart(const struct mor_cli_command *c, const struct mor_option_group *g,
		       const struct mor_option *o, void *arg)
{
	struct seen *seen = arg;
	size_t begin = g->offset + o->offset, end = begin + kind_size(o->kind);

	for (size_t i = 0; i < seen->count; i++)
		if (strcmp(seen->option[i]->name, o->name) == 0 ||
		    (o->letter && seen->option[i]->letter == o->letter))
			fail_msg("%s: --%s and --%s have one spelling", c->row->name, seen->option[i]->name,
				 o->name);
	assert_true(seen->count < sizeof(seen->option) / sizeof(seen->option[0]));
	seen->option[seen->count++] = o;
	if (end > c->args_size)
		fail_msg("%s --%s writes behind the struct", c->row->name, o->name);
	for (size_t at = begin; at < end; at++)
		if (seen->taken[at]++)
			fail_msg("%s --%s writes where another option does", c->row->name, o->name);
}

static void options_do_not_touch_each_other(void **state)
{
	(void)state;
	EACH_COMMAND(c)
	{
		struct seen seen = { .taken = calloc(1, c->args_size) };

		assert_non_null(seen.taken);
		each_option(c, look_apart, &seen);
		free(seen.taken);
	}
}

static void look_help(const struct mor_cli_command *c, const struct mor_option_group *g,
		      const struct mor_option *o, void *arg)
{
	char spelling[80];

	(void)g;
	snprintf(spelling, sizeof(spelling), "--%s", o->name);
	if (!strstr(arg, spelling) || !strstr(arg, o->help))
		fail_msg("%s --help does not show %s", c->row->name, spelling);
}

static void help_shows_every_option(void **state)
{
	(void)state;
	EACH_COMMAND(c)
	{
		char *text = NULL;
		size_t size = 0;
		struct mor_console console = { .out = open_memstream(&text, &size) };
		struct mor_cli cli = { .console = &console };

		assert_non_null(console.out);
		mor_help_command(&cli, c);
		fclose(console.out);
		each_option(c, look_help, text);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(commands_are_complete),   MOR_TEST(commands_are_found_by_name),
		MOR_TEST(options_are_complete),    MOR_TEST(options_do_not_touch_each_other),
		MOR_TEST(help_shows_every_option),
	};

	return mor_run_group("cli/commands", tests);
}
