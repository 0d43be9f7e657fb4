/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How each dialect is spoken, once for all plugins of the tests (fault-plugin, soak-plugin) and for the hosts
 * that drive them: what is asked, what is answered, where in a call the order to the plugin travels, and where
 * in the answer a token.
 */
#ifndef TESTS_KIT_TONGUE_H
#define TESTS_KIT_TONGUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "wire/framing.h"

enum tongue_form { AS_OBJECT, AS_TEXT, AS_BASE64 };

struct tongue {
	const char *name, *dialect; /* the name tells framings apart, too */
	enum mor_framing framing;
	/* a call through the library: an order stands in its params for "%", in this form */
	const char *action, *params;
	enum tongue_form form;
	/* the same on the wire: where in its params the order is, and what stands around the token
	 * of its result */
	const char *method, *at, *head, *tail;
	const char *greeting[3]; /* methods asked before */
	struct {
		const char *method, *result; /* result NULL: the process ends */
	} fixed[6];
	/* where the plugin is a directory: its manifest, and what the call is named there if not `action` */
	const char *manifest, *manifest_text, *declared;
	bool by_note;  /* settled by a notification (gassist)                     */
	bool asks;     /* the plugin is the client (kythe)                        */
	bool one_shot; /* a process for every call                                */
	bool greets;   /* it is asked something before the first call, or asks    */
	bool patient;  /* a late answer is waited for longer than a test may last: the host's user stops it */
};
extern const struct tongue tongues[];
extern const size_t tongue_count;
const struct tongue *tongue_find(const char *name); /* NULL: unknown, and stderr says where to add it */

/* The params of a call that brings this order, a JSON object. 0 or MORTISE_ENOMEM. */
int tongue_params(const struct tongue *tongue, struct mor_slice order, struct mor_buf *out);
/* The order in a call's params, as its own text. 0 or a status. */
int tongue_order(const struct tongue *tongue, struct mor_slice params, struct mor_buf *out);
/* The right answer to the call with that id. */
int tongue_answer(const struct tongue *tongue, struct mor_slice id, const char *token, struct mor_buf *out);
/* What it says to `method`, where that is always the same. false: not fixed. */
bool tongue_fixed(const struct tongue *tongue, struct mor_slice method, const char **ret_result);

/* Every whole message at the beginning of `in`, which is then consumed. */
struct mor_message;
typedef void tongue_message_fn(const struct mor_message *message);
void tongue_take(struct mor_deframer *deframer, struct mor_buf *in, bool at_end, tongue_message_fn *take);

#endif
