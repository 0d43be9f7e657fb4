/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of the header, called by somebody who is not the host's thread. */
#ifndef TESTS_API_STRANGERS_H
#define TESTS_API_STRANGERS_H

#include <mortise/undo.h>

#include "api.h"

/* One of everything that there are handles for, made by the host's thread. */
struct handles {
	mortise_host *host;
	mortise_plugin *plugin;
	mortise_plugin *orphan; /* of a host that is gone */
	mortise_call *call;
	mortise_request *request;
	mortise_pool *pool;
	mortise_undo *undo;
};

enum stranger_may {
	STRANGER_MAY,       /* any thread, and any process */
	STRANGER_MAY_NOT,   /* refused, and nothing has happened */
	STRANGER_MAY_LEAVE, /* refused on another thread; a forked child may free its copy */
	STRANGER_ADOPTS     /* any thread of the host's process; a forked child may not */
};

struct stranger {
	const char *name;
	enum stranger_may may;
	/* MORTISE_ETHREAD where it was refused as the header says, whatever the function's type. */
	int (*call)(const struct handles *h);
};
extern const struct stranger strangers[];
extern const size_t stranger_count;

/* Is every function that the header declares in the table, and nothing else? */
void strangers_are_complete(void);

#endif
