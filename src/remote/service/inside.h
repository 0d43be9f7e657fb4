/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room. */
#ifndef MOR_SERVICE_INSIDE_H
#define MOR_SERVICE_INSIDE_H

#include "pb/pb.h"
#include "service/service.h"

/* Refuses what is not a message of the service. MORTISE_EPROTO. */
int mor_service_refuse(const char *why, mortise_error *err);
/* The next field. 1, 0 at the end, or a status. */
int mor_service_next(struct mor_pb *pb, mortise_error *err);
/* Takes the present field as a text, if it is that one: it must be UTF-8, or JSON could not carry it. 0 or a
 * status. */
int mor_service_text(const struct mor_pb *pb, uint32_t field, struct mor_slice *ret, mortise_error *err);

extern const struct mor_service_stream mor_service_run_stream;

#endif
