/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser for the option tables. Options may stand anywhere among the words. "--" ends them: what follows
 * is another program's command line, and we do not touch it. Long options cannot be shortened: a script with
 * a short form would break when we add an option.
 */
#include "cli/options.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

struct parser {
	const struct mor_option_group *groups;
	char **argv; /* the word that is read now */
	char *args;
	struct mor_words *words;
	mortise_error *err;
};

/* ---- storing ---- */

/* 0 means "not given" in a plain number's field. Only an option with a flag of its own may be 0. */
static int store_number(struct parser *p, const struct mor_option *option, const char *value, void *where)
{
	uint32_t number = 0;

	if (!mor_parse_u32(mor_slice_of(value), &number))
		return mor_fail(p->err, MORTISE_EINVAL, "--%s wants a whole number, not \"%s\"", option->name,
				value);
	if (option->kind == MOR_OPT_COUNT) {
		*(struct mor_opt_count *)where = (struct mor_opt_count){ number, true };
		return 0;
	}
	if (number == 0)
		return mor_fail(p->err, MORTISE_EINVAL, "--%s must be at least 1", option->name);
	*(uint32_t *)where = number;
	return 0;
}

static int store_rate(struct parser *p, const struct mor_option *option, const char *value,
		      struct mor_opt_rate *where)
{
	*where = (struct mor_opt_rate){ .given = true, .valued = value };
	if (!value || mor_parse_rate(mor_slice_of(value), &where->value))
		return 0;
	return mor_fail(p->err, MORTISE_EINVAL,
			"--%s wants a rate from 0 to 1, such as 0.01 or 1%%, not \"%s\"", option->name, value);
}

/* The table's offset is relative to its group's struct. `base` is the place of that struct in the command's
 * struct. */
static int store_value(struct parser *p, const struct mor_option *option, size_t base, const char *value)
{
	void *where = p->args + base + option->offset;

	if (option->one_of && !mor_text_in(mor_slice_of(value), option->one_of))
		return mor_fail(p->err, MORTISE_EINVAL, "--%s takes one of %s, not \"%s\"", option->name,
				option->one_of, value);
	switch (option->kind) {
	case MOR_OPT_FLAG:
		*(bool *)where = true;
		return 0;
	case MOR_OPT_TEXT:
		*(const char **)where = value;
		return 0;
	case MOR_OPT_LIST:
	case MOR_OPT_SOME:
		if (mor_text_list_add(where, value ? value : "true"))
			return mor_fail_memory(p->err);
		return 0;
	case MOR_OPT_UINT:
	case MOR_OPT_COUNT:
		return store_number(p, option, value, where);
	case MOR_OPT_BYTES:
		if (!mor_parse_bytes(mor_slice_of(value), where))
			return mor_fail(p->err, MORTISE_EINVAL,
					"--%s wants a size such as 64K or 10M, not \"%s\"", option->name,
					value);
		return 0;
	case MOR_OPT_RATE:
		return store_rate(p, option, value, where);
	}
	return 0;
}

/* ---- reading ---- */

/* By letter if there is one, else by name. */
static const struct mor_option *find_option(struct parser *p, struct mor_slice name, char letter,
					    size_t *ret_base)
{
	for (const struct mor_option_group *g = p->groups; g->title; g++) {
		for (const struct mor_option *o = g->options; o->name; o++) {
			if (letter ? o->letter != letter : !mor_slice_is(name, o->name))
				continue;
			*ret_base = g->offset;
			return o;
		}
	}
	return NULL;
}

/* The name may be followed by "=value", so we copy it before we compare and show it. */
static void copy_name(const char *option, char word[static 64])
{
	size_t len = strcspn(option + 2, "=");

	snprintf(word, 64, "%.*s", (int)(len < 60 ? len : 60), option + 2);
}

const char *mor_options_nearest(const struct mor_option_group *groups, const char *option)
{
	char word[64];
	struct mor_nearest nearest = { .word = word };

	copy_name(option, word);
	for (const struct mor_option_group *g = groups; g->title; g++)
		for (const struct mor_option *o = g->options; o->name; o++)
			mor_nearest_offer(&nearest, o->name);
	return mor_nearest_best(&nearest);
}

int mor_options_refuse(const struct mor_option_group *groups, const char *option, mortise_error *err)
{
	const char *best = mor_options_nearest(groups, option);
	char word[64];

	copy_name(option, word);
	if (best)
		return mor_fail(err, MORTISE_EINVAL, "unknown option --%s; did you mean --%s?", word, best);
	return mor_fail(err, MORTISE_EINVAL, "unknown option --%s", word);
}

/* An option of another program, if the command allows such options. */
static int unknown_long(struct parser *p)
{
	if (!p->words->loose)
		return mor_options_refuse(p->groups, *p->argv, p->err);
	if (!p->words->unknown)
		p->words->unknown = *p->argv;
	p->words->item[p->words->count++] = *p->argv;
	return 0;
}

/* The argument of this option: the attached text, or else the next word. */
static int take_value(struct parser *p, const struct mor_option *option, const char *attached, const char **ret)
{
	if (attached || mor_option_is_optional(option)) {
		*ret = attached;
		return 0;
	}
	if (!p->argv[1])
		return mor_fail(p->err, MORTISE_EINVAL, "--%s needs %s", option->name, option->arg);
	*ret = *++p->argv;
	return 0;
}

static int parse_long(struct parser *p)
{
	const char *word = *p->argv + 2, *equals = strchr(word, '=');
	struct mor_slice name = { word, equals ? (size_t)(equals - word) : strlen(word) };
	const char *value = NULL;
	size_t base = 0;
	const struct mor_option *option = find_option(p, name, 0, &base);
	int r;

	if (!option)
		return unknown_long(p);
	if (!option->arg && equals)
		return mor_fail(p->err, MORTISE_EINVAL, "--%s takes no argument", option->name);
	if (option->arg && (r = take_value(p, option, equals ? equals + 1 : NULL, &value)) < 0)
		return r;
	return store_value(p, option, base, value);
}

/* "-vj4" is -v -j 4. */
static int parse_short(struct parser *p)
{
	for (const char *at = *p->argv + 1; *at; at++) {
		const char *value = NULL;
		size_t base = 0;
		const struct mor_option *option = find_option(p, (struct mor_slice){ 0 }, *at, &base);
		int r;

		if (!option)
			return mor_fail(p->err, MORTISE_EINVAL, "unknown option -%c%s", *at,
					p->words->hint ? p->words->hint : "");
		if (!option->arg) {
			if ((r = store_value(p, option, base, NULL)) < 0)
				return r;
			continue;
		}
		r = take_value(p, option, at[1] ? at + 1 : NULL, &value);
		return r < 0 ? r : store_value(p, option, base, value);
	}
	return 0;
}

/* "-" alone is a word: it stands for stdin. */
static int parse_word(struct parser *p)
{
	const char *word = *p->argv;

	if (word[0] == '-' && word[1] == '-')
		return parse_long(p);
	if (word[0] == '-' && word[1])
		return parse_short(p);
	p->words->item[p->words->count++] = word;
	return 0;
}

/* The words are collected in an array as long as argv: no growing, and one place to free. */
int mor_options_parse(const struct mor_option_group *groups, char **argv, void *args, struct mor_words *words,
		      mortise_error *err)
{
	struct parser p = { groups, argv, args, words, err };
	size_t count = 0;
	int r;

	while (argv[count])
		count++;
	words->item = mor_zalloc((count + 1) * sizeof(*words->item));
	if (!words->item)
		return mor_fail_memory(err);
	for (; *p.argv; p.argv++) {
		if (strcmp(*p.argv, "--") == 0) {
			words->tail = (const char **)p.argv + 1;
			return 0;
		}
		if ((r = parse_word(&p)) < 0)
			return r;
	}
	return 0;
}

static void free_list(void *list)
{
	mor_free(((struct mor_text_list *)list)->item);
}

/* Lists are all that parsing allocates in the command's struct; the tables know where they are. */
void mor_options_free(const struct mor_option_group *groups, void *args, struct mor_words *words)
{
	for (const struct mor_option_group *g = groups; g->title; g++)
		for (const struct mor_option *o = g->options; o->name; o++)
			if (o->kind == MOR_OPT_LIST || o->kind == MOR_OPT_SOME)
				free_list((char *)args + g->offset + o->offset);
	mor_free(words->item);
	*words = (struct mor_words){ 0 };
}
