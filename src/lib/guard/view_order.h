/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin shall see of the file system, as an order for mortise-jail (struct mor_guard_order). */
#ifndef MOR_GUARD_VIEW_ORDER_H
#define MOR_GUARD_VIEW_ORDER_H

#include <mortise/view.h>

#include "base/buf.h"

/* The texts of the order; view NULL: everything again. MORTISE_EINVAL, ENOTFOUND or ENOMEM; the error begins
 * with the plugin's name. */
int mor_order_view(const char *name, const mortise_view *view, struct mor_buf *texts, mortise_error *err);

#endif
