/* SPDX-License-Identifier: Apache-2.0 */
/* The tables and functions of a farm in PostgreSQL, as SQL. */
#ifndef MOR_FARM_SCHEMA_H
#define MOR_FARM_SCHEMA_H

#define MOR_FARM_SCHEMA 4 /* the version that this mortise needs */

/* One transaction: makes the schema mortise_farm, or brings it up to date. */
extern const char *const mor_farm_schema;

#endif
