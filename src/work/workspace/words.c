/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/words.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

static int add_arg(struct mor_workspace_words *w, const char *word)
{
	const char **grown = mor_realloc(w->args, (w->arg_count + 1) * sizeof(*grown));

	if (!grown)
		return MORTISE_ENOMEM;
	w->args = grown;
	grown[w->arg_count++] = word;
	return 0;
}

static int add_flag(struct mor_workspace_words *w, struct mor_slice name, const char *value)
{
	struct mor_workspace_flag *grown = mor_realloc(w->flags, (w->flag_count + 1) * sizeof(*grown));

	if (!grown)
		return MORTISE_ENOMEM;
	w->flags = grown;
	grown[w->flag_count++] = (struct mor_workspace_flag){ name, value };
	return 0;
}

static bool is_value(const char *word)
{
	return word && (word[0] != '-' || !word[1]);
}

/* Returns the number of words used, or a status. */
static int take_flag(struct mor_workspace_words *w, const char *const *at, mortise_error *err)
{
	const char *name = at[0] + 2, *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	bool next = !equals && is_value(at[1]);
	int r;

	if (len == 0)
		return mor_fail(err, MORTISE_EINVAL, "\"%s\": a flag needs a name, as in --NAME=VALUE", at[0]);
	r = add_flag(w, (struct mor_slice){ name, len }, equals ? equals + 1 : next ? at[1] : NULL);
	return r < 0 ? mor_fail_memory(err) : next ? 2 : 1;
}

int mor_workspace_words_add(struct mor_workspace_words *w, const char *const *list, mortise_error *err)
{
	int used;

	for (; list && *list; list += used) {
		used = 1;
		if (!w->only_args && strcmp(*list, "--") == 0)
			w->only_args = true;
		else if (!w->only_args && strncmp(*list, "--", 2) == 0)
			used = take_flag(w, list, err);
		else if (add_arg(w, *list) < 0)
			used = mor_fail_memory(err);
		if (used < 0)
			return used;
	}
	return 0;
}

void mor_workspace_words_fini(struct mor_workspace_words *w)
{
	mor_free(w->args);
	mor_free(w->flags);
	*w = (struct mor_workspace_words){ 0 };
}

void mor_workspace_words_write_args(const struct mor_workspace_words *words, struct mor_writer *w)
{
	mor_w_array(w);
	for (size_t i = 0; i < words->arg_count; i++)
		mor_w_string(w, words->args[i]);
	mor_w_end(w);
}

static void write_value(const struct mor_workspace_flag *flag, struct mor_writer *w)
{
	if (flag->value)
		mor_w_string(w, flag->value);
	else
		mor_w_bool(w, true);
}

/* At the first place of a flag, the values of all its later places are collected. */
void mor_workspace_words_write_flags(const struct mor_workspace_words *words, struct mor_writer *w)
{
	mor_w_object(w);
	for (size_t i = 0; i < words->flag_count; i++) {
		const struct mor_workspace_flag *flag = &words->flags[i];
		size_t same = 0, before = 0;

		for (size_t k = 0; k < words->flag_count; k++) {
			bool is = mor_slice_eq(words->flags[k].name, flag->name);

			same += is;
			before += is && k < i;
		}
		if (before)
			continue;
		mor_w_key_slice(w, flag->name);
		if (same > 1)
			mor_w_array(w);
		for (size_t k = i; k < words->flag_count; k++)
			if (mor_slice_eq(words->flags[k].name, flag->name))
				write_value(&words->flags[k], w);
		if (same > 1)
			mor_w_end(w);
	}
	mor_w_end(w);
}
