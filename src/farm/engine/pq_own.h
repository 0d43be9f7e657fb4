/* SPDX-License-Identifier: Apache-2.0 */
/* libpq, loaded when it is needed: commands that have nothing to do with a farm do not load it, and it need
 * not be installed. */
#ifndef MOR_FARM_PQ_OWN_H
#define MOR_FARM_PQ_OWN_H

#include <libpq-fe.h>

#include <mortise/mortise.h>

#define MOR_PQ_FUNCTIONS(X) \
	X(PQclear) \
	X(PQconnectPoll) \
	X(PQconnectStartParams) \
	X(PQconninfoFree) \
	X(PQconninfoParse) \
	X(PQconsumeInput) \
	X(PQerrorMessage) \
	X(PQfinish) \
	X(PQflush) \
	X(PQfreemem) \
	X(PQgetResult) \
	X(PQgetvalue) \
	X(PQisBusy) \
	X(PQnotifies) \
	X(PQntuples) \
	X(PQresultErrorField) \
	X(PQresultStatus) \
	X(PQsendQuery) \
	X(PQsendQueryParams) \
	X(PQsetNoticeProcessor) \
	X(PQsetnonblocking) \
	X(PQsocket) \
	X(PQstatus)

struct mor_pq {
#define X(name) __typeof__(name) *name;
	MOR_PQ_FUNCTIONS(X)
#undef X
};

/* The same table each time. MORTISE_EUNSUPPORTED: it is not installed. */
int mor_pq_load(const struct mor_pq **ret, mortise_error *err);

#endif
