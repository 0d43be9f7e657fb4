/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of the embedder about what a plugin sees of the file system, one sent at a time. */
#ifndef MOR_HOST_VIEW_QUEUE_H
#define MOR_HOST_VIEW_QUEUE_H

#include <mortise/view.h>

#include "base/list.h"

void mor_plugin_view_answered(void *arg, const mortise_error *error); /* the link's on_view */
/* The process is gone: moves its orders to `ret`; they fail after the state has moved. */
void mor_plugin_view_take(mortise_plugin *plugin, struct mor_list *ret);
void mor_plugin_view_fail_taken(mortise_plugin *plugin, struct mor_list *taken, const mortise_error *error);

#endif
