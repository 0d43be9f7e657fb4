/* SPDX-License-Identifier: Apache-2.0 */
/* The only symbol that libmortise-grpc.so shows. */
#include "addon/addon.h"
#include "addon/stamp.h"

__attribute__((visibility("default"))) const struct mor_addon MOR_ADDON_SYMBOL = {
	.stamp = MOR_ADDON_STAMP,
	.connection_new = mor_grpc_new_take,
	.connection_free = mor_grpc_free,
	.call = mor_grpc_call,
	.send = mor_grpc_send,
	.finish = mor_grpc_finish,
	.pause = mor_grpc_pause,
	.cancel = mor_grpc_cancel,
	.unary = mor_grpc_unary,
	.status_name = mor_grpc_status_name,
	.service_of = mor_service_of,
	.ask_health = mor_service_ask_health,
	.is_serving = mor_service_is_serving,
	.described_new = mor_described_new,
	.described_free = mor_described_free,
	.described_load = mor_described_load,
	.described_ask = mor_described_ask,
	.described_hear = mor_described_hear,
	.described_list = mor_described_list,
	.described_find = mor_described_find,
	.described_encode = mor_described_encode,
	.described_decode = mor_described_decode,
	.described_stdio = mor_described_stdio,
};
