/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled as C11, C17 and C++17 with all warnings: what an embedder's compiler makes of the public header. */
#include <mortise/installed.h>
#include <mortise/jail.h>
#include <mortise/mortise.h>
#include <mortise/undo.h>
#include <mortise/view.h>

/* The promise in the header: "512 bytes for ever". */
typedef char error_is_512_bytes[sizeof(mortise_error) == 512 ? 1 : -1];
/* "inside the union, whose size stays" */
typedef char union_is_64_bytes[sizeof(mortise_event) - offsetof(mortise_event, state) == 64 ? 1 : -1];

#ifdef __cplusplus
#include <type_traits>
/* A function that may throw is no callback. */
static_assert(!std::is_convertible<void (*)(const mortise_reply *, void *), mortise_reply_fn *>::value,
	      "a callback is noexcept");
#endif

static void on_reply(const mortise_reply *reply, void *arg) MORTISE_NOEXCEPT
{
	*(int *)arg = reply->status;
}

int main(void)
{
	mortise_call_options opt = { sizeof(mortise_call_options), 0, 0, MORTISE_RAW, on_reply, 0, { 0, 0 } };
	mortise_json absent = { 0, 0 }, given = mortise_json_text("[1]");
	enum mortise_status status = MORTISE_EINVAL;
	error_is_512_bytes *unused = 0;
	union_is_64_bytes *unused_too = 0;

	(void)unused;
	(void)unused_too;
	(void)opt;
	(void)absent;
	return status == -2 && given.len == 3 && !mortise_json_text(0).text && mortise_version()[0] ? 0 : 1;
}
