/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which the digest and the archive have a unit's parts. */
#ifndef MOR_KYTHE_UNIT_UNIT_ORDER_H
#define MOR_KYTHE_UNIT_UNIT_ORDER_H

#include "kythe/unit/unit.h"

/* Pointers into the unit; counts as there, except that inputs have no doubles. */
struct mor_unit_order {
	const struct mor_input **inputs;
	size_t input_count;
	const char **sources;
	const struct mor_unit_env **env;
	const struct mor_any **details;
};

int mor_unit_order(const struct mor_unit *unit, struct mor_unit_order *ret); /* 0 or MORTISE_ENOMEM; fini in any case */
void mor_unit_order_fini(struct mor_unit_order *order);

/* A unit whose lists are in that order; the parts themselves stay where they are, and must. */
struct mor_ordered_unit {
	struct mor_unit unit;
	struct mor_unit_order order;
};
int mor_ordered_unit(const struct mor_unit *from, struct mor_ordered_unit *ret); /* 0 or MORTISE_ENOMEM; fini in any case */
void mor_ordered_unit_fini(struct mor_ordered_unit *ordered);

#endif
