/* SPDX-License-Identifier: Apache-2.0 */
/* What a person sees before the question, and whether a plugin is what an index and a lock say. */
#include "leak.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "installer/inside.h"
#include "said.h"

/* A visit whose facts are given as JSON. */
struct seen {
	struct said said;
	struct mor_installer_order order;
	struct mor_installer_visit visit;
	struct mor_doc *before; /* permissions of the version before */
};

static void begin(struct seen *s, const char *described, const char *permissions)
{
	*s = (struct seen){ .order = { .from = "./greeter", .command = "install" } };
	s->visit = (struct mor_installer_visit){ .order = &s->order,
						 .console = &s->said.console,
						 .name = "greeter",
						 .version = "1.0",
						 .staging = { .path = "/store/.new/greeter" },
						 .content = { .count = 2, .bytes = 300 } };
	snprintf(s->visit.content.digest, sizeof(s->visit.content.digest), "0123456789abcdef0123");
	assert_int_equal(mor_doc_parse(mor_slice_of(described), 0, 0, &s->visit.described, NULL), 0);
	assert_int_equal(mor_doc_parse(mor_slice_of(permissions), 0, 0, &s->visit.permissions_doc, NULL), 0);
	mor_buf_text(&s->visit.offers, "[\"greet\",\"b\\u001bye\"]");
	s->visit.asked = mor_permissions_asked(mor_doc_root(s->visit.permissions_doc));
}

static void end(struct seen *s)
{
	mor_doc_free(s->visit.described);
	mor_doc_free(s->visit.permissions_doc);
	mor_doc_free(s->visit.before.doc);
	mor_doc_free(s->before);
	mor_buf_fini(&s->visit.offers);
	said_forget(&s->said);
}

static void assert_shown(struct seen *s, const char *wanted)
{
	said_begin(&s->said);
	mor_installer_show(&s->visit);
	said_end(&s->said);
	assert_string_equal(s->said.err, wanted);
	assert_string_equal(s->said.out, "");
}

static const char confined[] =
	"{\"dialect\":\"plain\",\"description\":\"He said "
	"\\\"hi\\\"\\u001b[2J\",\"command\":[\"/store/.new/greeter/run\",\"a "
	"b\",\"/store/.new/greeter\"],\"warnings\":[\"/store/.new/greeter/x is "
	"large\"],\"confinement\":{\"policy\":{\"text\":[\"may write below /store/.new/greeter\",\"may read, "
	"with everything below: /etc, ...\"]}}}";

#define IDENTITY \
	"greeter 1.0 (plain), from ./greeter\n" \
	"  it says   \"He said \\\"hi\\\"\\x1b[2J\"\n" \
	"  runs      run 'a b' '(where it is installed)'\n" \
	"  offers    greet, b\\x1bye\n" \
	"  files     2, 300 bytes; sha256 0123456789abcdef\n"

/* Paths of our copy are shown as the plugin knows them; each place that it may read has a line. */
static void test_facts(void **state)
{
	struct seen s;

	(void)state;
	begin(&s, confined,
	      "{\"confined\":true,\"network\":false,\"read\":[\"/etc\",\"/opt/\\u009bx\"],\"spawn\":false,"
	      "\"write\":false}");
	assert_shown(&s, IDENTITY "What it may do:\n"
				  "  may write below (where it is installed)\n"
				  "  may read, with everything below:\n"
				  "    /etc\n"
				  "    /opt/\\xc2\\x9bx\n"
				  "  warning: x is large\n");
	end(&s);
}

static void test_everything(void **state)
{
	struct mor_lockfile_entry pinned = { .name = "greeter" };
	struct seen s;

	(void)state;
	begin(&s, "{\"dialect\":\"plain\",\"command\":[\"x\"]}", "{\"confined\":false}");
	s.visit.offers.len = 0;
	assert_shown(
		&s,
		"greeter 1.0 (plain), from ./greeter\n"
		"  runs      x\n"
		"  files     2, 300 bytes; sha256 0123456789abcdef\n"
		"What it may do:\n"
		"  everything that you may: read and change all your files, use the network, start programs\n"
		"  its manifest asks for no permissions, so none are enforced; --confine holds it to its own "
		"directory\n");
	s.order.pinned = &pinned;
	said_begin(&s.said);
	mor_installer_show(&s.visit);
	said_end(&s.said);
	assert_null(strstr(s.said.err, "--confine"));
	end(&s);
}

static void test_who_signed_it(void **state)
{
	struct mor_registry registry = { .origin = { .owner = "acme" } };
	struct mor_registry_entry listed = { .name = "greeter" };
	struct seen s;

	(void)state;
	begin(&s, "{}", "{\"confined\":false}");
	snprintf(s.visit.origin.key, sizeof(s.visit.origin.key), "ed25519:0123456789012345678901234567");
	said_begin(&s.said);
	mor_installer_show(&s.visit);
	snprintf(s.visit.origin.owner, sizeof(s.visit.origin.owner), "carol");
	s.order.registry = &registry;
	s.order.listed = &listed;
	mor_installer_show(&s.visit);
	registry.origin = (struct mor_bundle_origin){ .key = "" };
	mor_installer_show(&s.visit);
	said_end(&s.said);
	assert_non_null(strstr(s.said.err, "  signed    by a key that you do not know: "
					   "ed25519:0123456789012345678901234567\n"));
	assert_non_null(strstr(s.said.err, "  signed    by carol (ed25519:0123456789012345)\n"));
	assert_non_null(strstr(s.said.err, "  listed    in an index that is signed by acme\n"));
	assert_non_null(strstr(s.said.err, "  listed    in an index that is not signed\n"));
	end(&s);
}

/* ---- compared with the version before ---- */

static void install_before(struct seen *s, const char *permissions)
{
	assert_int_equal(mor_doc_parse(MOR_SLICE("{}"), 0, 0, &s->visit.before.doc, NULL), 0);
	assert_int_equal(mor_doc_parse(mor_slice_of(permissions), 0, 0, &s->before, NULL), 0);
	s->visit.before.name = "greeter";
	s->visit.before.version = "0.9";
	s->visit.before.permissions = mor_doc_root(s->before);
}

static void test_what_is_different(void **state)
{
	struct mor_content_change items[23];
	struct seen s;
	const char *shown;

	(void)state;
	begin(&s, "{}", "{\"confined\":true,\"network\":true,\"read\":[],\"spawn\":false,\"write\":false}");
	install_before(&s, "{\"confined\":true,\"network\":false,\"read\":[],\"spawn\":true,\"write\":false}");
	for (size_t i = 0; i < 23; i++)
		items[i] = (struct mor_content_change){ MOR_CONTENT_CHANGED, i ? "a" : "\x1b[2J" };
	s.visit.changes = (struct mor_content_changes){ items, 23, 23 };
	s.visit.wider = MOR_PERMISSION_NETWORK | MOR_PERMISSION_REPLACE | MOR_PERMISSION_DOWNGRADE;
	s.visit.older = true;
	said_begin(&s.said);
	mor_installer_show(&s.visit);
	said_end(&s.said);
	shown = strstr(s.said.err, "Compared with");
	assert_non_null(shown);
	assert_non_null(
		strstr(shown, "Compared with greeter 0.9, which is installed:\n  changed   \\x1b[2J\n"));
	assert_non_null(strstr(shown, "  ... and 3 more\n"
				      "  an older version takes the place of a newer one\n"
				      "  version 1.0 with other files takes the place of 1.0; mortise rollback "
				      "greeter goes back\n"
				      "  may more  network\n"
				      "  may less  spawn\n"));
	s.visit.changes = (struct mor_content_changes){ 0 };
	s.visit.damaged = true;
	s.order.aside = true;
	said_begin(&s.said);
	mor_installer_show(&s.visit);
	said_end(&s.said);
	assert_non_null(strstr(s.said.err, "  no file is different\n"));
	assert_non_null(strstr(s.said.err, "  an older version; the newer one stays beside it\n"));
	assert_non_null(strstr(
		s.said.err,
		"  what is installed as greeter is damaged: this takes its place, with all its versions\n"));
	end(&s);
}

/* An attacker who can change a file can leave its signature out: that is a step back. */
static void test_the_loss_of_a_signature(void **state)
{
	static const struct {
		const char *before, *now;
		bool approve, resigned;
	} rows[] = {
		{ NULL, "", false, false }, { NULL, "k1", false, false }, { "k1", "k1", false, false },
		{ "k1", "", false, true },  { "k1", "k2", false, true },  { "k1", "", true, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct mor_installer_order order = { .approve = rows[i].approve };
		struct mor_installer_visit visit = { .order = &order, .before.key = rows[i].before };

		snprintf(visit.origin.key, sizeof(visit.origin.key), "%s", rows[i].now);
		mor_installer_compare_signer(&visit);
		assert_int_equal(visit.resigned, rows[i].resigned);
		assert_int_equal(visit.wider, rows[i].resigned ? MOR_PERMISSION_DOWNGRADE : 0);
	}
}

/* ---- what others have said about it ---- */

static void test_the_index(void **state)
{
	static const struct {
		struct mor_registry_entry listed;
		const char *key, *why;
	} rows[] = {
		{ { .name = "greeter", .version = "1.0", .digest = "0123456789abcdef0123" }, "", NULL },
		{ { .name = "greeter", .version = "1.0", .digest = "0123456789abcdef0123", .key = "k" },
		  "k",
		  NULL },
		{ { .name = "other", .version = "1.0", .digest = "" }, "", "its name is another" },
		{ { .name = "greeter", .version = "2.0", .digest = "" }, "", "its version is another" },
		{ { .name = "greeter", .version = "1.0", .digest = "1" }, "", "its content is another" },
		{ { .name = "greeter", .version = "1.0", .digest = "0123456789abcdef0123", .key = "k" },
		  "",
		  "its signature is missing" },
		{ { .name = "greeter", .version = "1.0", .digest = "0123456789abcdef0123", .key = "k" },
		  "j",
		  "another key has signed it" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		mortise_error err = { 0 };
		char wanted[200];
		struct seen s;

		begin(&s, "{}", "{\"confined\":false}");
		snprintf(s.visit.origin.key, sizeof(s.visit.origin.key), "%s", rows[i].key);
		s.order.listed = &rows[i].listed;
		assert_int_equal(mor_installer_compare(&s.visit, &err), rows[i].why ? MORTISE_EINPUT : 0);
		snprintf(wanted, sizeof(wanted),
			 "./greeter is not what the index lists as %s %s: %s; nothing was installed",
			 rows[i].listed.name, rows[i].listed.version, rows[i].why ? rows[i].why : "");
		assert_string_equal(err.text, rows[i].why ? wanted : "");
		end(&s);
	}
}

static void test_the_lock(void **state)
{
	struct mor_lockfile lock = { .path = "/p/mortise.lock" };
	struct mor_lockfile_entry pinned = { .name = "greeter", .version = "1.0", .digest = "1" };
	mortise_error err = { 0 };
	struct seen s;

	(void)state;
	begin(&s, "{}", "{\"confined\":false}");
	s.order.lock = &lock;
	s.order.pinned = &pinned;
	assert_int_equal(mor_installer_compare(&s.visit, &err), MORTISE_EINPUT);
	assert_string_equal(err.text,
			    "greeter 1.0: its content is not what /p/mortise.lock pins, as it comes from "
			    "./greeter; nothing was installed");
	pinned.version = "2.0";
	assert_int_equal(mor_installer_compare(&s.visit, &err), MORTISE_EINPUT);
	assert_string_equal(
		err.text,
		"greeter: /p/mortise.lock pins 2.0, but ./greeter holds greeter 1.0; nothing was installed");
	pinned.name = "other";
	assert_int_equal(mor_installer_compare(&s.visit, &err), MORTISE_EINPUT);
	assert_string_equal(
		err.text,
		"other: /p/mortise.lock pins 2.0, but ./greeter holds greeter 1.0; nothing was installed");
	end(&s);
}

/* ---- our copy ---- */

static void test_errors_name_what_the_user_typed(void **state)
{
	struct mor_installer_order order = { .from = "dir///", .name = "greeter" };
	struct mor_installer_visit visit = { .order = &order, .staging.path = "/s/.new/x" };
	mortise_error err = { 0 };

	(void)state;
	assert_string_equal(mor_installer_source(&visit), "dir///");
	mor_fail(&err, MORTISE_EMANIFEST, "/s/.new/x/plugin.toml: line 3, of /s/.new/x");
	mor_installer_hide_copy(&visit, &err);
	assert_string_equal(err.text, "dir/plugin.toml: line 3, of dir");
	assert_int_equal(err.code, MORTISE_EMANIFEST);
	order.approve = true;
	mor_fail(&err, MORTISE_EMANIFEST, "/s/.new/x/plugin.toml");
	mor_installer_hide_copy(&visit, &err);
	assert_string_equal(err.text, "greeter/plugin.toml");
	mor_installer_hide_copy(&visit, &err); /* nothing to hide */
	assert_string_equal(err.text, "greeter/plugin.toml");
	mor_installer_hide_copy(&visit, NULL);
	order = (struct mor_installer_order){ .from = "/" };
	mor_fail(&err, MORTISE_EMANIFEST, "/s/.new/x");
	mor_alloc_fail_after(0);
	mor_installer_hide_copy(&visit, &err);
	mor_alloc_fail_after(-1);
	assert_string_equal(err.text, "/s/.new/x"); /* better a strange path than none */
	mor_installer_hide_copy(&visit, &err);
	assert_string_equal(err.text, "/");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_facts),
		MOR_TEST(test_everything),
		MOR_TEST(test_who_signed_it),
		MOR_TEST(test_what_is_different),
		MOR_TEST(test_the_loss_of_a_signature),
		MOR_TEST(test_the_index),
		MOR_TEST(test_the_lock),
		MOR_TEST(test_errors_name_what_the_user_typed),
	};

	return mor_run_group("installer/facts", tests);
}
