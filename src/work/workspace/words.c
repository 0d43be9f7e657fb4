/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/words.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* Returns the number of words used, or a status. */
static int take_flag(struct mor_workspace_words *w, const char *const *at, mortise_error *err)
{
	const char *name = at[0] + 2, *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	bool next = !equals && at[1] && (at[1][0] != '-' || !at[1][1]);

	if (len == 0)
		return mor_fail(err, MORTISE_EINVAL, "\"%s\": a flag needs a name, as in --NAME=VALUE", at[0]);
	if (mor_grow(&w->flags, w->flag_count, &w->flag_cap, sizeof(*w->flags)) < 0)
		return mor_fail_memory(err);
	w->flags[w->flag_count++] = (struct mor_workspace_flag){ { name, len },
								 equals ? equals + 1 :
								 next   ? at[1] :
									  NULL };
	return next ? 2 : 1;
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
		else if (mor_text_list_add(&w->args, *list) < 0)
			used = mor_fail_memory(err);
		if (used < 0)
			return used;
	}
	return 0;
}

void mor_workspace_words_fini(struct mor_workspace_words *w)
{
	mor_free(w->args.item);
	mor_free(w->flags);
	*w = (struct mor_workspace_words){ 0 };
}

void mor_workspace_words_write_args(const struct mor_workspace_words *words, struct mor_writer *w)
{
	mor_w_array(w);
	for (size_t i = 0; i < words->args.count; i++)
		mor_w_string(w, words->args.item[i]);
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
