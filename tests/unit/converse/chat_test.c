/* SPDX-License-Identifier: Apache-2.0 */
/* What a line of a chat means: whose function it is, what Tab offers, what is refused. No plugin is started. */
#include "heard.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "converse/ask.h"
#include "converse/complete.h"
#include "converse/converse.h"
#include "converse/functions.h"
#include "typed.h"

static struct mor_converse chat;
static struct mor_converse_args args;
static const struct mor_plugin_args plugin_args;
static struct mor_converse_guest guests[3];
static mortise_error err;

#define FUNCTION(name, properties) \
	"{\"name\":\"" name "\",\"description\":\"Does " name "\",\"parameters\":{\"properties\":{" properties \
	"}}}"
#define TEXT(name) "\"" name "\":{\"type\":\"string\"}"

#define ALPHA "{\"actions\":[" FUNCTION("echo", TEXT("text") "," TEXT("times")) "," FUNCTION("talk", "") "]}"
#define BETA  "{\"actions\":[" FUNCTION("count", TEXT("to")) "," FUNCTION("talk", "") "]}"
#define FREE  "{\"actions\":[{\"name\":\"query\",\"passthrough\":true}]}"

static void add_guest(const char *name, const char *about)
{
	struct mor_converse_guest *guest = &guests[chat.count];
	mortise_plugin_options opt = { .size = sizeof(opt),
				       .argv = (const char *const[]){ "/nonexistent/plugin", NULL },
				       .name = name,
				       .dialect = "gassist" };

	*guest = (struct mor_converse_guest){ .chat = &chat };
	assert_int_equal(mortise_plugin_new(chat.runner.host, &opt, &guest->turn.plugin, &err), 0);
	if (about)
		assert_int_equal(mor_doc_parse(mor_slice_of(about), 0, 0, &guest->about, &err), 0);
	chat.count++;
}

static int begin(void **state)
{
	if (heard_begin(state) < 0)
		return -1;
	args = (struct mor_converse_args){ .plugin = &plugin_args };
	chat = (struct mor_converse){ .console = &console, .args = &args, .guests = guests };
	mor_list_init(&chat.asks);
	if (mor_runner_open(&chat.runner, &console, &plugin_args, NULL, &err) < 0)
		return -1;
	chat.lines = mor_converse_lines_new(&chat.runner);
	return chat.lines ? 0 : -1;
}

static int end(void **state)
{
	for (size_t i = 0; i < chat.count; i++) {
		mortise_plugin_unref(guests[i].turn.plugin);
		mor_doc_free(guests[i].about);
		mor_doc_free(guests[i].table);
	}
	mor_converse_lines_free(chat.lines);
	mor_runner_close(&chat.runner);
	return heard_end(state);
}
#define CHAT_TEST(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

/* ---- whose function it is ---- */

/* "PLUGIN FUNCTION", with a star if it is listed; or the error's text. */
static const char *pick(const char *word)
{
	static char text[100];
	struct mor_converse_pick found = { 0 };

	err = (mortise_error){ 0 };
	if (mor_converse_guests_pick(&chat, word, &found, &err) < 0) {
		assert_int_equal(err.code, MORTISE_EINPUT);
		return err.text;
	}
	snprintf(text, sizeof(text), "%s %s%s", mortise_plugin_name(found.guest->turn.plugin), found.name,
		 found.listed ? "*" : "");
	return text;
}

static void test_a_function_finds_its_plugin(void **state)
{
	(void)state;
	add_guest("alpha", ALPHA);
	add_guest("beta", BETA);
	assert_string_equal(pick("echo"), "alpha echo*");
	assert_string_equal(pick("count"), "beta count*");
	assert_string_equal(pick("beta.talk"), "beta talk*");
	assert_string_equal(pick("talk"), "several plugins match: type /alpha.talk or /beta.talk");
	assert_string_equal(pick("cuont"), "no plugin here has a function \"cuont\": did you mean \"count\"? "
					   "(/functions lists them)");
	assert_string_equal(pick("beta.echo"), "beta has no function \"echo\" (/functions lists them)");
	assert_string_equal(pick("gamma.talk"),
			    "no plugin here has a function \"gamma.talk\" (/functions lists them)");
	assert_string_equal(pick("beta."), "no plugin here has a function \"beta.\" (/functions lists them)");
	assert_string_equal(pick(""), "no plugin here has a function \"\" (/functions lists them)");
}

/* One that lists nothing may have anything; what another lists goes there first. */
static void test_a_plugin_that_lists_nothing(void **state)
{
	(void)state;
	add_guest("alpha", ALPHA);
	add_guest("open", "{}");
	assert_string_equal(pick("echo"), "alpha echo*");
	assert_string_equal(pick("anything"), "open anything");
	assert_string_equal(pick("open.echo"), "open echo");
	add_guest("also", "{\"actions\":[{\"name\":\"x\"}],\"more_actions\":true}");
	assert_string_equal(pick("anything"), "several plugins match: type /open.anything or /also.anything");
	assert_string_equal(pick("x"), "also x*");
}

/* A name with dots, and a function that looks like PLUGIN.FUNCTION. */
static void test_dots_in_names(void **state)
{
	(void)state;
	add_guest("a.b", ALPHA);
	add_guest("a", "{\"actions\":[{\"name\":\"a.talk\"}]}");
	assert_string_equal(pick("a.b.echo"), "a.b echo*");
	assert_string_equal(pick("a.talk"), "a a.talk*");
}

/* A plugin that has not started is as if it was not there. */
static void test_one_that_is_left_out(void **state)
{
	struct mor_converse_pick found = { 0 };

	(void)state;
	add_guest("gone", NULL);
	assert_string_equal(pick("gone.echo"), "gone has no function \"gone.echo\" (/functions lists them)");
	assert_int_equal(mor_converse_guests_passthrough(&chat, &found, &err), 0);
	mor_converse_guests_list(&chat);
	assert_string_equal(heard_err(), "");
}

static void test_free_text(void **state)
{
	struct mor_converse_pick found = { 0 };

	(void)state;
	add_guest("alpha", ALPHA);
	assert_int_equal(mor_converse_guests_passthrough(&chat, &found, &err), 0);
	add_guest("one", FREE);
	assert_int_equal(mor_converse_guests_passthrough(&chat, &found, &err), 1);
	assert_ptr_equal(found.guest, &guests[1]);
	assert_string_equal(found.name, "query");
	add_guest("two", FREE);
	assert_int_equal(mor_converse_guests_passthrough(&chat, &found, &err), MORTISE_EINPUT);
	assert_string_equal(err.text, "several plugins take free text: type /query or /query TEXT");
}

static void test_text_goes_to_who_asked_last(void **state)
{
	(void)state;
	add_guest("alpha", ALPHA);
	add_guest("beta", BETA);
	assert_null(mor_converse_guests_waiting(&chat));
	guests[0].in_session = guests[1].in_session = true;
	guests[0].asked = 5;
	guests[1].asked = 3;
	assert_ptr_equal(mor_converse_guests_waiting(&chat), &guests[0]);
	guests[0].in_session = false;
	assert_ptr_equal(mor_converse_guests_waiting(&chat), &guests[1]);
}

/* ---- lists ---- */

static void test_list(void **state)
{
	(void)state;
	add_guest("alpha", ALPHA);
	mor_converse_guests_list(&chat);
	assert_string_equal(heard_err(), "  /echo [text=string] [times=string]\n      Does echo\n"
					 "  /talk\n      Does talk\n");
	add_guest("beta", BETA);
	mor_converse_guests_list(&chat);
	assert_string_equal(heard_err(),
			    "alpha\n  /echo [text=string] [times=string]\n      Does echo\n"
			    "  /alpha.talk\n      Does talk\n"
			    "beta\n  /count [to=string]\n      Does count\n  /beta.talk\n      Does talk\n");
}

static void test_list_of_nothing(void **state)
{
	(void)state;
	add_guest("open", "{}");
	mor_converse_guests_list(&chat);
	assert_non_null(strstr(heard_err(), "does not say which functions it has"));
	guests[0].table = mor_runner_dialect_table("yams");
	mor_converse_guests_list(&chat);
	assert_non_null(strstr(heard_err(), "  /extractor.extract source= [options=]\n"));
}

/* ---- Tab ---- */

/* Where the word begins, and what it may be, with a bar behind each. */
static const char *tab(const char *line)
{
	static char text[1000];
	struct mor_text_list found = { 0 };
	size_t from = 99, len;

	mor_converse_complete(&chat, line, &from, &found);
	len = (size_t)snprintf(text, sizeof(text), "%zu:", from);
	for (size_t i = 0; i < found.count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s|", found.item[i]);
	mor_text_list_free_texts(&found);
	return text;
}

static void test_tab(void **state)
{
	(void)state;
	add_guest("alpha", ALPHA);
	add_guest("beta", BETA);
	assert_string_equal(tab(""), "0:");
	assert_string_equal(tab("text"), "0:");
	assert_string_equal(tab("/e"), "0:/end |/echo |");
	assert_string_equal(tab("/t"), "0:/talk |"); /* once */
	assert_string_equal(tab("/c"), "0:/call |/count |");
	assert_string_equal(tab("/zz"), "0:");
	assert_string_equal(tab("/echo "), "6:text=|times=|");
	assert_string_equal(tab("/echo te"), "6:text=|");
	assert_string_equal(tab("/echo text=a ti"), "13:times=|");
	assert_string_equal(tab("/call echo t"), "11:text=|times=|");
	assert_string_equal(tab("/nothing t"), "9:");
	assert_null(strstr(tab("/"), "//"));
}

static void test_tab_knows_the_dialects_methods(void **state)
{
	(void)state;
	add_guest("open", "{}");
	guests[0].table = mor_runner_dialect_table("yams");
	assert_string_equal(tab("/extractor.s"), "0:/extractor.supports |");
	assert_string_equal(tab("/extractor.supports m"), "20:mime_type=|");
}

/* What Tab puts into the line is printed: names that would steer the terminal, or that no line can hold. */
static void test_tab_offers_nothing_that_steers(void **state)
{
	(void)state;
	add_guest("bad", "{\"actions\":[{\"name\":\"x\\u001b[2J\",\"parameters\":{\"properties\":{}}},"
			 "{\"name\":\"xy\",\"parameters\":{\"properties\":{\"p\\u009b\":{},\"p\\n\":{},"
			 "\"pq\":{}}}},{\"name\":\"x\\u202e\"},{\"name\":\"\"}]}");
	add_guest("good", "{\"actions\":[{\"name\":\"x\xc3\x80\xe4\xb8\x80\"}]}");
	assert_string_equal(tab("/x"), "0:/xy |/x\xc3\x80\xe4\xb8\x80 |");
	assert_string_equal(tab("/xy p"), "4:pq=|");
}

static void test_no_near_name_that_steers(void **state)
{
	(void)state;
	add_guest("bad", "{\"actions\":[{\"name\":\"ech\\u001bo\"}]}");
	assert_string_equal(pick("echo"), "bad has no function \"echo\" (/functions lists them)");
}

static void test_tab_without_memory(void **state)
{
	struct mor_text_list found = { 0 };
	size_t from;

	(void)state;
	add_guest("alpha", ALPHA);
	for (long n = 0; n < 12; n++) {
		mor_alloc_fail_after(n);
		mor_converse_complete(&chat, "/", &from, &found);
		mor_alloc_fail_after(-1);
		mor_text_list_free_texts(&found);
	}
}

/* ---- lines ---- */

static const char *act(const char *line)
{
	mor_converse_act(&chat, line);
	return heard_err();
}

static void test_lines_that_start_nothing(void **state)
{
	(void)state;
	add_guest("alpha", ALPHA);
	assert_string_equal(act(""), "");
	assert_string_equal(act("  \t"), "");
	assert_string_equal(act("# a comment"), "");
	assert_int_equal(chat.exit_code, 0);
	assert_string_equal(
		act("hello"),
		"input: the plugin is not waiting for input: call a function first, as in /FUNCTION KEY=VALUE "
		"(/functions lists them)\n");
	assert_int_equal(chat.exit_code, 4);
	assert_string_equal(
		act("//etc"),
		"input: the plugin is not waiting for input: call a function first, as in /FUNCTION KEY=VALUE "
		"(/functions lists them)\n");
	assert_string_equal(act("/call"), "input: name the FUNCTION after /call\n");
	assert_string_equal(act("/note"), "input: name the METHOD after /note\n");
	assert_string_equal(act("/end"), "input: no conversation is open\n");
	assert_string_equal(act("/ecko a"), "input: alpha has no function \"ecko\": did you mean \"echo\"? "
					    "(/functions lists them)\n");
	assert_string_equal(act("/echo txt=a"),
			    "input: \"echo\" has no argument \"txt\": did you mean \"text\"? Usage: echo "
			    "[text=string] [times=string]\n");
	assert_string_equal(act("/echo a='x"), "input: a quote is not closed: a='x\n");
	assert_non_null(strstr(act("/"), "  /FUNCTION KEY=VALUE"));
	assert_non_null(strstr(act("/help"), "  /FUNCTION KEY=VALUE"));
	assert_false(chat.leaving);
	assert_string_equal(act("/quit"), "");
	assert_true(chat.leaving);
}

static void test_several_plugins_wait_for_nothing(void **state)
{
	(void)state;
	add_guest("alpha", ALPHA);
	add_guest("beta", BETA);
	assert_non_null(strstr(act("hello"), "input: no plugin is waiting for input: "));
}

/* ---- what plugins ask ---- */

static void test_nobody_asked(void **state)
{
	(void)state;
	assert_string_equal(act("/answer 5"),
			    "input: no plugin waits for an answer (with --ask, what they ask waits for you)\n");
	assert_string_equal(act("/refuse 5 no"),
			    "input: no plugin waits for an answer (with --ask, what they ask waits for you)\n");
	assert_non_null(strstr(act("/answer {"), "input: /answer wants one JSON value: "));
	assert_false(mor_converse_ask_waits(&chat));
}

/* Then they are the plugin's words. */
static void test_a_function_that_is_called_answer(void **state)
{
	(void)state;
	add_guest("alpha", "{\"actions\":[" FUNCTION("answer", TEXT("text") "," TEXT("to")) "]}");
	assert_non_null(strstr(act("/answer txt=1"), "\"answer\" has no argument \"txt\""));
}

/* While a call waits for an answer, nothing else is begun: not a function whose name only begins so either. */
static void test_only_an_answer_while_one_is_awaited(void **state)
{
	static const char *const rows[][2] = {
		{ "/answer {\n", "input: /answer wants one JSON value: " },
		{ "  /refuse no\n", "input: no plugin waits for an answer" },
		{ "/answers 5\n",
		  "input: a plugin waits for /answer JSON or /refuse [CODE] TEXT, and its call" },
		{ "/refuses\n", "input: a plugin waits for /answer JSON or /refuse [CODE] TEXT, and its call" },
		{ "/echo a\n", "input: a plugin waits for /answer JSON or /refuse [CODE] TEXT, and its call" },
		{ "text\n",
		  "input: a plugin waits for /answer JSON or /refuse [CODE] TEXT, and its call runs" },
		{ "", "" }, /* no more lines */
	};

	(void)state;
	add_guest("alpha", ALPHA);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		typed_begin(rows[i][0]);
		mor_converse_ask_person(&chat);
		typed_end();
		assert_int_equal(strncmp(heard_err(), rows[i][1], strlen(rows[i][1])), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHAT_TEST(test_a_function_finds_its_plugin),
		CHAT_TEST(test_a_plugin_that_lists_nothing),
		CHAT_TEST(test_dots_in_names),
		CHAT_TEST(test_one_that_is_left_out),
		CHAT_TEST(test_free_text),
		CHAT_TEST(test_text_goes_to_who_asked_last),
		CHAT_TEST(test_list),
		CHAT_TEST(test_list_of_nothing),
		CHAT_TEST(test_tab),
		CHAT_TEST(test_tab_knows_the_dialects_methods),
		CHAT_TEST(test_tab_offers_nothing_that_steers),
		CHAT_TEST(test_no_near_name_that_steers),
		CHAT_TEST(test_tab_without_memory),
		CHAT_TEST(test_lines_that_start_nothing),
		CHAT_TEST(test_several_plugins_wait_for_nothing),
		CHAT_TEST(test_nobody_asked),
		CHAT_TEST(test_a_function_that_is_called_answer),
		CHAT_TEST(test_only_an_answer_while_one_is_awaited),
	};

	return mor_run_group("converse/chat", tests);
}
