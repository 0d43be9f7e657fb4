/* SPDX-License-Identifier: Apache-2.0 */
/* Built without the header of libpq (-Dfarm). */
#include "base/error.h"
#include "engine/farm.h"

static int open_none(const struct mor_farm_options *opt, struct mor_farm **ret, mortise_error *err)
{
	(void)opt;
	(void)ret;
	return mor_fail(err, MORTISE_EUNSUPPORTED,
			"this mortise was built without PostgreSQL: install libpq-dev and build it again");
}

const struct mor_farm_engine mor_farm_postgres = { .schemes = "postgres|postgresql", .open = open_none };
