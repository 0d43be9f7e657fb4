/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmortise-grpc.so: what a host needs for plugins that speak gRPC, in a library of its own, so that
 * libmortise depends neither on nghttp2 nor on protobuf. It is one constant table of functions, which are those
 * of grpc/grpc.h and service/service.h: their headers are the manual.
 *
 * It is loaded when the first such plugin starts, and stays. It is searched as mortise-jail is
 * (program/helper.h): beside the own file, else in libexec/mortise, never by a search path. It has its own
 * copies of base, loop and wire, which work on the host's structs. So both must come from the same build:
 * `stamp` is the sum of the headers that they share, and another one is refused.
 */
#ifndef MOR_ADDON_ADDON_H
#define MOR_ADDON_ADDON_H

#include <mortise/mortise.h>

#include "grpc/grpc.h"
#include "service/described.h"
#include "service/service.h"

#define MOR_ADDON_FILE   "libmortise-grpc.so"
#define MOR_ADDON_SYMBOL mortise_grpc_addon

struct mor_addon {
	const char *stamp;
	int (*connection_new)(struct mor_loop *loop, int fd, const struct mor_grpc_options *options,
			      struct mor_grpc **ret);
	struct mor_grpc *(*connection_free)(struct mor_grpc *grpc);
	int (*call)(struct mor_grpc *grpc, const struct mor_grpc_call_options *options,
		    struct mor_grpc_call **ret, mortise_error *err);
	int (*send)(struct mor_grpc_call *call, struct mor_slice message);
	void (*finish)(struct mor_grpc_call *call);
	void (*pause)(struct mor_grpc_call *call, bool on);
	void (*cancel)(struct mor_grpc_call *call);
	int (*unary)(struct mor_grpc *grpc, const struct mor_grpc_unary *unary, struct mor_grpc_call **ret,
		     mortise_error *err);
	const char *(*status_name)(unsigned status, char out[32]);
	const struct mor_service *(*service_of)(const char *dialect);
	int (*ask_health)(const char *service, struct mor_buf *out);
	bool (*is_serving)(struct mor_slice answer);
	struct mor_described *(*described_new)(void);
	struct mor_described *(*described_free)(struct mor_described *described);
	int (*described_load)(struct mor_described *described, struct mor_slice set, mortise_error *err);
	int (*described_ask)(struct mor_described *described, struct mor_buf *out, mortise_error *err);
	int (*described_hear)(struct mor_described *described, struct mor_slice message, mortise_error *err);
	int (*described_list)(const struct mor_described *described, struct mor_buf *out);
	int (*described_find)(const struct mor_described *described, struct mor_slice method,
			      const struct mor_pb_method **ret, mortise_error *err);
	int (*described_encode)(const struct mor_described *described, const struct mor_pb_method *method,
				const struct mor_value *params, struct mor_buf *out, mortise_error *err);
	int (*described_decode)(const struct mor_described *described, const struct mor_pb_method *method,
				struct mor_slice message, struct mor_buf *out, mortise_error *err);
	bool (*described_stdio)(struct mor_slice message, bool *ret_is_stderr, struct mor_slice *ret_bytes);
};

/* In the library. */
extern const struct mor_addon MOR_ADDON_SYMBOL;

/* Loads it, the first time. 0; MORTISE_ETRANSPORT: it is not there, must not be loaded, or is of another build;
 * the text says which and what to do. */
int mor_addon_load(const struct mor_addon **ret, mortise_error *err);

#endif
