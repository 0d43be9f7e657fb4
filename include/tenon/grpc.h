/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc.h: serve a Sunscreen plugin over gRPC, where the host asks for that. Link with the package tenon-grpc
 * instead of tenon; it needs libnghttp2. docs/guide/grpc.md explains it.
 *
 *	int main(void)
 *	{
 *		return tenon_grpc_run(&(tenon_plugin){ .name = "demo", .commands = commands });
 *	}
 */
#ifndef TENON_GRPC_H
#define TENON_GRPC_H

#include <tenon/tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Serves the plugin's commands and hooks over gRPC if the host has set MORTISE_GRPC_SOCKET, or is a HashiCorp
 * host (PLUGIN_PROTOCOL_VERSIONS); else does what tenon_run() does. tenon_progress(), tenon_log() and
 * tenon_stream() reach a host that asks for them while the command runs. Returns the status for main(): 0, or 1
 * if it could not listen. */
TENON_API int tenon_grpc_run(const tenon_plugin *plugin);

#ifdef __cplusplus
}
#endif

#endif
