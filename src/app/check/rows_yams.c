/* SPDX-License-Identifier: Apache-2.0 */
/* yams: external plugins of YAMS. Calls of the protocol's own methods change nothing, so all of
 * them are made. */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "check/own.h"

#define YAMS       MOR_CHECK_YAMS
#define HANDSHAKE  "Lifecycle Methods, 1. handshake.manifest"
#define INIT       "Lifecycle Methods, 2. plugin.init"
#define HEALTH     "Lifecycle Methods, 3. plugin.health"
#define SHUTDOWN   "Lifecycle Methods, 4. plugin.shutdown"
#define SUPPORTS   "Content Extraction Interface, 5. extractor.supports"
#define EXTRACT    "Content Extraction Interface, 6. extractor.extract"
#define EXTRACTOR  "needs content_extractor_v1\n"
#define EXTRACTING EXTRACTOR MOR_CHECK_REQ "71,\"method\":\"extractor.extract\",\"params\":"
#define HELLO      "start\n" MOR_CHECK_REQ "1,\"method\":\"handshake.manifest\"}\n"

/* ---- who it is ---- */

static void check_name(struct mor_check_case *at)
{
	const struct mor_value *hello = mor_check_hello(at);
	const char *name = mor_json_text(mor_json_get(hello, "name"), "");

	if (!mor_check_goes_on(at))
		return;
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_')
			mor_check_failed(at, "the name is \"%s\"", name);
}

static bool is_number(const char **at)
{
	size_t len = strspn(*at, "0123456789");
	bool good = len && (len == 1 || **at != '0');

	*at += len;
	return good;
}

/* MAJOR.MINOR.PATCH, and what may follow. */
static void check_version(struct mor_check_case *at)
{
	const char *version = mor_json_text(mor_json_get(mor_check_hello(at), "version"), ""), *p = version;
	bool good = is_number(&p) && *p++ == '.' && is_number(&p) && *p++ == '.' && is_number(&p);

	if (mor_check_goes_on(at) && (!good || (*p && *p != '-' && *p != '+')))
		mor_check_failed(at, "the version is \"%s\"", version);
}

static void check_interfaces(struct mor_check_case *at)
{
	const struct mor_value *list = mor_json_get(mor_check_hello(at), "interfaces");
	struct mor_json_iter it = mor_json_iter(list);

	if (!mor_check_goes_on(at))
		return;
	if (mor_json_type(list) != MOR_JSON_ARRAY || mor_json_size(list) == 0)
		mor_check_failed(at, "interfaces is not a list with at least one name");
	while (mor_check_goes_on(at) && mor_json_next(&it))
		if (mor_json_type(it.value) != MOR_JSON_STRING)
			mor_check_failed(at, "interfaces has a %s; the real host drops it",
					 mor_json_type_name(mor_json_type(it.value)));
}

static void check_formats(struct mor_check_case *at)
{
	const struct mor_value *hello = mor_check_hello(at);
	const struct mor_value *offer = mor_json_at(hello, "/capabilities/content_extraction");

	if (!mor_check_goes_on(at))
		return;
	if (!mor_dialect_announces(at->run->dialect, hello, "content_extractor_v1"))
		mor_check_unseen(at, "the plugin does not announce the interface content_extractor_v1");
	else if (!mor_json_size(mor_json_get(offer, "formats")) &&
		 !mor_json_size(mor_json_get(offer, "extensions")))
		mor_check_failed(at, "capabilities.content_extraction has neither formats nor extensions");
}

static void check_same_interfaces(struct mor_check_case *at)
{
	const struct mor_manifest *m = at->run->opt->manifest;
	const struct mor_value *file = m->doc ? mor_json_get(mor_doc_root(m->doc), "interfaces") : NULL, *hello;

	if (!file) {
		mor_check_unseen(at, "there is no yams-plugin.json with interfaces");
		return;
	}
	hello = mor_check_hello(at);
	if (mor_check_goes_on(at) && !mor_json_equal(file, mor_json_get(hello, "interfaces")))
		mor_check_failed(at, "yams-plugin.json and the handshake list different interfaces");
}

static const struct mor_check_row rows[] = {
	{ .name = "handshake.answer",
	  .title = "answers handshake.manifest with an object",
	  .spec = HANDSHAKE,
	  .must = YAMS,
	  .script = HELLO "result 1 {...}",
	  .advice = "answer with {\"name\",\"version\",\"interfaces\"} before anything else; start slowly "
		    "later" },
	{ .name = "handshake.letter",
	  .title = "answers handshake.manifest with all members of the specification",
	  .spec = HANDSHAKE,
	  .should = YAMS,
	  .script = HELLO "letter 1 handshake.manifest",
	  .advice = "strict hosts refuse an answer without them" },
	{ .name = "handshake.name",
	  .title = "has a name of letters, digits and underscores",
	  .spec = HANDSHAKE,
	  .should = YAMS,
	  .fn = check_name,
	  .advice = "choose another name: it becomes part of configuration keys" },
	{ .name = "handshake.version",
	  .title = "has a semantic version",
	  .spec = HANDSHAKE,
	  .should = YAMS,
	  .fn = check_version,
	  .advice = "write MAJOR.MINOR.PATCH, such as 1.4.0" },
	{ .name = "handshake.interfaces",
	  .title = "lists its interfaces as strings",
	  .spec = HANDSHAKE,
	  .should = YAMS,
	  .fn = check_interfaces,
	  .advice = "\"interfaces\":[\"content_extractor_v1\"]" },
	{ .name = "handshake.formats",
	  .title = "lists the formats that it extracts",
	  .spec = HANDSHAKE,
	  .should = YAMS,
	  .fn = check_formats,
	  .advice = "add capabilities.content_extraction.formats: the real host chooses plugins by it" },
	{ .name = "handshake.params",
	  .title = "answers handshake.manifest with empty params too",
	  .spec = HANDSHAKE,
	  .should = YAMS,
	  .script = "start\n" MOR_CHECK_REQ "1,\"method\":\"handshake.manifest\",\"params\":{}}\nresult 1",
	  .advice = "accept absent and empty params alike" },
	{ .name = "handshake.twice",
	  .title = "answers handshake.manifest again",
	  .spec = HANDSHAKE,
	  .should = YAMS,
	  .script = MOR_CHECK_REQ "51,\"method\":\"handshake.manifest\"}\nresult 51",
	  .advice = "the handshake only reads: answer it as often as it is asked" },
	{ .name = "manifest.name",
	  .title = "has the name of its yams-plugin.json",
	  .spec = HANDSHAKE,
	  .should = YAMS,
	  .fn = mor_check_manifest_name,
	  .advice = "keep both in one place: hosts believe the file" },
	{ .name = "manifest.version",
	  .title = "has the version of its yams-plugin.json",
	  .spec = HANDSHAKE,
	  .should = YAMS,
	  .fn = mor_check_manifest_version,
	  .advice = "keep both in one place: hosts believe the file" },
	{ .name = "manifest.interfaces",
	  .title = "has the interfaces of its yams-plugin.json",
	  .spec = HANDSHAKE,
	  .should = YAMS,
	  .fn = check_same_interfaces,
	  .advice = "keep both in one place: hosts believe the file" },
	{ .name = "manifest.warnings",
	  .title = "has a yams-plugin.json without oddities",
	  .spec = HANDSHAKE,
	  .should = YAMS,
	  .fn = mor_check_manifest_warnings,
	  .advice = "docs/reference/manifests.md lists the keys" },

	{ .name = "init.answer",
	  .title = "accepts plugin.init with an empty configuration",
	  .spec = INIT,
	  .must = YAMS,
	  .script = HELLO "answered 1\n" MOR_CHECK_REQ
			  "2,\"method\":\"plugin.init\",\"params\":{\"config\":{}}}\n"
			  "implemented 2 plugin.init\nresult 2",
	  .advice = "answer {\"status\":\"initialized\"}; use defaults for what the configuration lacks" },
	{ .name = "init.letter",
	  .title = "answers plugin.init with the status \"initialized\"",
	  .spec = INIT,
	  .should = YAMS,
	  .script = HELLO "answered 1\n" MOR_CHECK_REQ
			  "2,\"method\":\"plugin.init\",\"params\":{\"config\":{}}}\n"
			  "implemented 2 plugin.init\nletter 2 plugin.init",
	  .advice = "answer {\"status\":\"initialized\"}" },
	{ .name = "init.flat",
	  .title = "accepts a configuration that is not wrapped in config",
	  .spec = INIT,
	  .should = YAMS,
	  .script = HELLO "answered 1\n" MOR_CHECK_REQ
			  "2,\"method\":\"plugin.init\",\"params\":{\"mortise_check\":1}}\n"
			  "implemented 2 plugin.init\nresult 2",
	  .advice = "the real host sends the configuration as params: ignore keys that you do not know" },
	{ .name = "init.absent",
	  .title = "accepts plugin.init without params",
	  .spec = INIT,
	  .should = YAMS,
	  .script = HELLO "answered 1\n" MOR_CHECK_REQ "2,\"method\":\"plugin.init\"}\n"
			  "implemented 2 plugin.init\nresult 2",
	  .advice = "the real host sends no params after a restart" },
	{ .name = "init.twice",
	  .title = "accepts plugin.init twice",
	  .spec = INIT,
	  .should = YAMS,
	  .script = MOR_CHECK_REQ
	  "52,\"method\":\"plugin.init\",\"params\":{\"config\":{}}}\nimplemented 52 plugin.init\n"
	  "result 52\nalive",
	  .advice = "the second configuration replaces the first" },
	{ .name = "init.bad-config",
	  .title = "refuses a configuration that is not an object",
	  .spec = INIT,
	  .should = YAMS,
	  .script = MOR_CHECK_REQ
	  "53,\"method\":\"plugin.init\",\"params\":{\"config\":7}}\nimplemented 53 plugin.init\n"
	  "error 53 any\nalive",
	  .advice = "answer -32602 and keep the old configuration" },

	{ .name = "health.answer",
	  .title = "answers plugin.health with a status",
	  .spec = HEALTH,
	  .must = YAMS,
	  .script = MOR_CHECK_REQ "54,\"method\":\"plugin.health\"}\nimplemented 54 plugin.health\n"
				  "result 54 {\"status\":...,...}",
	  .advice = "answer {\"status\":\"ok\"}" },
	{ .name = "health.good",
	  .title = "is healthy right after plugin.init",
	  .spec = HEALTH,
	  .should = YAMS,
	  .script = MOR_CHECK_REQ "55,\"method\":\"plugin.health\"}\nimplemented 55 plugin.health\n"
				  "result 55 {\"status\":\"ok\",...}",
	  .advice = "\"ok\" is the only word that every host takes for healthy" },
	{ .name = "health.early",
	  .title = "answers plugin.health before plugin.init",
	  .spec = HEALTH,
	  .should = YAMS,
	  .script = HELLO "answered 1\n" MOR_CHECK_REQ "56,\"method\":\"plugin.health\"}\nanswered 56",
	  .advice = "health is asked at any time" },
	{ .name = "method.case",
	  .title = "compares method names exactly",
	  .spec = "Message Format, Request",
	  .should = YAMS,
	  .script = MOR_CHECK_REQ "57,\"method\":\"Plugin.Health\"}\nerror 57 -32601",
	  .advice = "method names are case-sensitive" },

	{ .name = "supports.answer",
	  .title = "answers extractor.supports",
	  .spec = SUPPORTS,
	  .must = YAMS,
	  .script = EXTRACTOR MOR_CHECK_REQ "61,\"method\":\"extractor.supports\",\"params\":{\"mime_type\":"
					    "\"application/x-executable\",\"extension\":\".elf\"}}\n"
					    "implemented 61 extractor.supports\nvalid 61 extractor.supports",
	  .advice = "answer {\"supported\":true or false}; confidence is between 0 and 1" },
	{ .name = "supports.unknown",
	  .title = "answers extractor.supports for a type that nobody knows",
	  .spec = SUPPORTS,
	  .must = YAMS,
	  .script =
		  EXTRACTOR MOR_CHECK_REQ "62,\"method\":\"extractor.supports\",\"params\":{\"mime_type\":"
					  "\"application/x-mortise-check\",\"extension\":\".mortise-check\"}}\n"
					  "implemented 62 extractor.supports\nvalid 62 extractor.supports",
	  .advice = "answer {\"supported\":false}: it is a question, not an error" },
	{ .name = "supports.nothing",
	  .title = "refuses extractor.supports without type and extension",
	  .spec = SUPPORTS,
	  .should = YAMS,
	  .script = EXTRACTOR MOR_CHECK_REQ "63,\"method\":\"extractor.supports\",\"params\":{}}\n"
					    "implemented 63 extractor.supports\nerror 63 -32602\nalive",
	  .advice = "answer -32602: at least one of them is required" },

	{ .name = "extract.bytes",
	  .title = "extracts from bytes, or says why not",
	  .spec = EXTRACT,
	  .must = YAMS,
	  .script = EXTRACTING "{\"source\":{\"type\":\"bytes\",\"data\":\"aGVsbG8K\"}}}\nanswered 71\nalive",
	  .advice = "answer with a result, or with the error -32001 for a format that you do not know" },
	{ .name = "extract.options",
	  .title = "accepts the options that the real host sends",
	  .spec = EXTRACT,
	  .must = YAMS,
	  .script = EXTRACTING "{\"options\":{\"extension\":\".txt\",\"mime_type\":\"text/plain\"},"
			       "\"source\":{\"type\":\"bytes\",\"data\":\"aGVsbG8K\"}}}\nanswered 71\nalive",
	  .advice = "ignore options that you do not know" },
	{ .name = "extract.result",
	  .title = "answers extractor.extract as the specification says",
	  .spec = EXTRACT,
	  .must = YAMS,
	  .script = EXTRACTING "{\"source\":{\"type\":\"bytes\",\"data\":\"aGVsbG8K\"}}}\n"
			       "tells 71 extractor.extract",
	  .advice = "{\"success\":true,\"content\":\"...\"}, or {\"success\":false,\"error\":\"...\"}" },
	{ .name = "extract.missing-file",
	  .title = "fails for a file that is not there",
	  .spec = EXTRACT,
	  .must = YAMS,
	  .script = EXTRACTING "{\"source\":{\"type\":\"path\",\"path\":\"%W/not-there\"}}}\n"
			       "fails 71 extractor.extract\nalive",
	  .advice = "answer -32000, or {\"success\":false,\"error\":\"...\"}: an empty text would look like "
		    "success" },
	{ .name = "extract.no-source",
	  .title = "refuses extractor.extract without a source",
	  .spec = EXTRACT,
	  .should = YAMS,
	  .script = EXTRACTING "{}}\nerror 71 -32602\nalive",
	  .advice = "answer -32602" },
	{ .name = "extract.source-type",
	  .title = "refuses a source of an unknown type",
	  .spec = EXTRACT,
	  .should = YAMS,
	  .script = EXTRACTING "{\"source\":{\"type\":\"mortise\"}}}\nerror 71 -32602\nalive",
	  .advice = "answer -32602" },
	{ .name = "extract.no-data",
	  .title = "refuses a source of type bytes without data",
	  .spec = EXTRACT,
	  .should = YAMS,
	  .script = EXTRACTING "{\"source\":{\"type\":\"bytes\"}}}\nfails 71 extractor.extract\nalive",
	  .advice = "answer -32602" },
	{ .name = "extract.bad-data",
	  .title = "refuses data that is not base64",
	  .spec = EXTRACT,
	  .should = YAMS,
	  .script = EXTRACTING "{\"source\":{\"type\":\"bytes\",\"data\":\"%%%%\"}}}\n"
			       "fails 71 extractor.extract\nalive",
	  .advice = "answer -32602: do not extract from what was decoded by guessing" },
	{ .name = "call.named",
	  .title = "answers the methods named by --call",
	  .spec = "Transport, Process Management",
	  .must = YAMS,
	  .fn = mor_check_calls,
	  .advice = "every request with an id is answered, with a result or an error" },

	{ .name = "shutdown.answer",
	  .title = "answers plugin.shutdown, or exits",
	  .spec = SHUTDOWN,
	  .must = YAMS,
	  .script = MOR_CHECK_REQ "81,\"method\":\"plugin.shutdown\"}\nleaves 81",
	  .advice = "answer null, then clean up" },
	{ .name = "shutdown.null",
	  .title = "answers plugin.shutdown with null",
	  .spec = SHUTDOWN,
	  .should = YAMS,
	  .script = MOR_CHECK_REQ
	  "82,\"method\":\"plugin.shutdown\"}\nimplemented 82 plugin.shutdown\nresult 82 null",
	  .advice = "\"result\":null" },
	{ .name = "shutdown.exit",
	  .title = "exits after plugin.shutdown and the end of stdin",
	  .spec = SHUTDOWN,
	  .must = YAMS,
	  .script = "bye\nend\nexits",
	  .advice = "leave the loop; the host sends SIGTERM 5 s after plugin.shutdown" },
	{ 0 },
};

const struct mor_check_tongue mor_check_tongue_yams = {
	.dialect = YAMS,
	.name = "yams",
	.wire = "Transport, Stdio Communication",
	.stop = "Transport, Process Management",
	.greet = MOR_CHECK_REQ "1,\"method\":\"handshake.manifest\"}\nhello 1\n" MOR_CHECK_REQ
			       "2,\"method\":\"plugin.init\",\"params\":{\"config\":{}}}\nanswered 2",
	.greet_id = "handshake.answer",
	.probe = "\"method\":\"plugin.health\"",
	.call = "\"method\":%s,\"params\":{}",
	.bye = MOR_CHECK_REQ "99,\"method\":\"plugin.shutdown\"}\nleaves 99",
	.rows = rows,
};
