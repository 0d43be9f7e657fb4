/* SPDX-License-Identifier: Apache-2.0 */
/*
 * testing.h: call a plugin as a host would, in three lines. Inside the test's own process, where a debugger
 * sees everything, or as a program over a real pipe; the answers and errors are the same.
 *
 *	tenon_test *t = tenon_test_inside(&plugin, "gassist");
 *	assert(tenon_test_call(t, "roll", "{\"dice\": 2}") == 0 && tenon_test_result(t));
 *	assert(tenon_test_end(t) == 0);
 *
 * The dialect's greeting (handshake, init) is done before the first call. What a function returns is valid
 * until the next call. All kinds of plugin but kythe's: try those with `mortise index`.
 */
#ifndef TENON_TESTING_H
#define TENON_TESTING_H

#include <tenon/tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tenon_test tenon_test;

/* The plugin on a thread of this process. `dialect` NULL: the plugin's own, or plain if it has several. NULL:
 * no memory, or no such dialect. */
TENON_API tenon_test *tenon_test_inside(const tenon_plugin *plugin, const char *dialect);
/* A program, by path and arguments (NULL-terminated). `dialect` NULL: plain. NULL: it cannot be started. */
TENON_API tenon_test *tenon_test_spawn(const char *const *argv, const char *dialect);
/* The configuration that init sends: a JSON object. Before the first call. */
TENON_API int tenon_test_config(tenon_test *test, const char *config_json);

/* Calls by name, as people do, and waits for the end of the answer:
 *   plain, yams     a command or method; "extract" is extractor.extract. params_json is its params
 *   gassist         a function and its arguments
 *   sunscreen, -json  a command, or "hook:NAME". An object is its flags, an array its words
 *   ayiou           a chat message ("/roll 2"), with params_json NULL; else a method and its params
 * NULL: no params. 0: it has a result. 1: it failed: code, error, data. -1: there is no answer; the plugin has
 * ended, or sends what cannot be read. */
TENON_API int tenon_test_call(tenon_test *test, const char *name, const char *params_json);
/* What the user says next, in gassist and ayiou. As tenon_test_call(). */
TENON_API int tenon_test_say(tenon_test *test, const char *text);

TENON_API const tenon_value *tenon_test_result(const tenon_test *test); /* in the dialect's form */
/* The text of the result: gassist's data, yams' content, ayiou's reply, sunscreen's summary, or the result
 * itself if it is a text. "" if it has none. */
TENON_API const char *tenon_test_text(const tenon_test *test);
TENON_API const char *tenon_test_streamed(const tenon_test *test); /* the pieces of this call, in one */
TENON_API int tenon_test_asks(const tenon_test *test);             /* 1: gassist waits for what the user says */
TENON_API int64_t tenon_test_code(const tenon_test *test);         /* 0: no error */
TENON_API const char *tenon_test_error(const tenon_test *test);    /* the error's text; "" */
TENON_API const tenon_value *tenon_test_data(const tenon_test *test);

/* Closes its stdin, waits for its end and frees the test. The plugin's exit status; -1 if a
 * signal killed it. */
TENON_API int tenon_test_end(tenon_test *test);

#ifdef __cplusplus
}
#endif
#endif
