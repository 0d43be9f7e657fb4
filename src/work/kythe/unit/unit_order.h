/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a unit's parts in the digest and in the archive. */
#ifndef MOR_KYTHE_UNIT_UNIT_ORDER_H
#define MOR_KYTHE_UNIT_UNIT_ORDER_H

#include "kythe/unit/unit.h"

/* Pointers into the unit; the same counts, except that inputs have no duplicates. */
struct mor_unit_order {
	const struct mor_input **inputs;
	size_t input_count;
	const char **sources;
	const struct mor_unit_env **env;
	const struct mor_any **details;
};

/* 0 or MORTISE_ENOMEM; call fini in every case */
int mor_unit_order(const struct mor_unit *unit, struct mor_unit_order *ret);
void mor_unit_order_fini(struct mor_unit_order *order);

/* A unit whose lists are in that order. The parts themselves stay in the old unit, which must live as long. */
struct mor_ordered_unit {
	struct mor_unit unit;
	struct mor_unit_order order;
};
/* 0 or MORTISE_ENOMEM; call fini in every case */
int mor_ordered_unit(const struct mor_unit *from, struct mor_ordered_unit *ret);
void mor_ordered_unit_fini(struct mor_ordered_unit *ordered);

#endif
