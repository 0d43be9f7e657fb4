/* SPDX-License-Identifier: Apache-2.0 */
/* yams: external plugins of YAMS. Calls of the protocol's own methods change nothing, so all of
 * them are made. */
#include <ctype.h>
#include <string.h>

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

#define ROW(id, text, section, level, how, cure) MOR_CHECK_ROW(id, text, section, level, YAMS, how, cure)

static const struct mor_check_row rows[] = {
	ROW("handshake.answer", "answers handshake.manifest with an object", HANDSHAKE, must,
	    .script = HELLO "result 1 {...}",
	    "answer with {\"name\",\"version\",\"interfaces\"} before anything else; start slowly "
	    "later"),
	ROW("handshake.letter", "answers handshake.manifest with all members of the specification", HANDSHAKE,
	    should, .script = HELLO "letter 1 handshake.manifest",
	    "strict hosts refuse an answer without them"),
	ROW("handshake.name", "has a name of letters, digits and underscores", HANDSHAKE, should,
	    .fn = check_name, "choose another name: it becomes part of configuration keys"),
	ROW("handshake.version", "has a semantic version", HANDSHAKE, should, .fn = check_version,
	    "write MAJOR.MINOR.PATCH, such as 1.4.0"),
	ROW("handshake.interfaces", "lists its interfaces as strings", HANDSHAKE, should,
	    .fn = check_interfaces, "\"interfaces\":[\"content_extractor_v1\"]"),
	ROW("handshake.formats", "lists the formats that it extracts", HANDSHAKE, should, .fn = check_formats,
	    "add capabilities.content_extraction.formats: the real host chooses plugins by it"),
	ROW("handshake.params", "answers handshake.manifest with empty params too", HANDSHAKE, should,
	    .script = "start\n" MOR_CHECK_REQ "1,\"method\":\"handshake.manifest\",\"params\":{}}\nresult 1",
	    "accept absent and empty params alike"),
	ROW("handshake.twice", "answers handshake.manifest again", HANDSHAKE, should,
	    .script = MOR_CHECK_REQ "51,\"method\":\"handshake.manifest\"}\nresult 51",
	    "the handshake only reads: answer it as often as it is asked"),
	ROW("manifest.name", "has the name of its yams-plugin.json", HANDSHAKE, should,
	    .fn = mor_check_manifest_name, "keep both in one place: hosts believe the file"),
	ROW("manifest.version", "has the version of its yams-plugin.json", HANDSHAKE, should,
	    .fn = mor_check_manifest_version, "keep both in one place: hosts believe the file"),
	ROW("manifest.interfaces", "has the interfaces of its yams-plugin.json", HANDSHAKE, should,
	    .fn = check_same_interfaces, "keep both in one place: hosts believe the file"),
	ROW("manifest.warnings", "has a yams-plugin.json without oddities", HANDSHAKE, should,
	    .fn = mor_check_manifest_warnings, "docs/reference/manifests.md lists the keys"),

	ROW("init.answer", "accepts plugin.init with an empty configuration", INIT, must,
	    .script = HELLO "answered 1\n" MOR_CHECK_REQ
			    "2,\"method\":\"plugin.init\",\"params\":{\"config\":{}}}\n"
			    "implemented 2 plugin.init\nresult 2",
	    "answer {\"status\":\"initialized\"}; use defaults for what the configuration lacks"),
	ROW("init.letter", "answers plugin.init with the status \"initialized\"", INIT, should,
	    .script = HELLO "answered 1\n" MOR_CHECK_REQ
			    "2,\"method\":\"plugin.init\",\"params\":{\"config\":{}}}\n"
			    "implemented 2 plugin.init\nletter 2 plugin.init",
	    "answer {\"status\":\"initialized\"}"),
	ROW("init.flat", "accepts a configuration that is not wrapped in config", INIT, should,
	    .script = HELLO "answered 1\n" MOR_CHECK_REQ
			    "2,\"method\":\"plugin.init\",\"params\":{\"mortise_check\":1}}\n"
			    "implemented 2 plugin.init\nresult 2",
	    "the real host sends the configuration as params: ignore keys that you do not know"),
	ROW("init.absent", "accepts plugin.init without params", INIT, should,
	    .script = HELLO "answered 1\n" MOR_CHECK_REQ "2,\"method\":\"plugin.init\"}\n"
			    "implemented 2 plugin.init\nresult 2",
	    "the real host sends no params after a restart"),
	ROW("init.twice", "accepts plugin.init twice", INIT, should,
	    .script = MOR_CHECK_REQ
	    "52,\"method\":\"plugin.init\",\"params\":{\"config\":{}}}\nimplemented 52 plugin.init\n"
	    "result 52\nalive",
	    "the second configuration replaces the first"),
	ROW("init.bad-config", "refuses a configuration that is not an object", INIT, should,
	    .script = MOR_CHECK_REQ
	    "53,\"method\":\"plugin.init\",\"params\":{\"config\":7}}\nimplemented 53 plugin.init\n"
	    "error 53 any\nalive",
	    "answer -32602 and keep the old configuration"),

	ROW("health.answer", "answers plugin.health with a status", HEALTH, must,
	    .script = MOR_CHECK_REQ "54,\"method\":\"plugin.health\"}\nimplemented 54 plugin.health\n"
				    "result 54 {\"status\":...,...}",
	    "answer {\"status\":\"ok\"}"),
	ROW("health.good", "is healthy right after plugin.init", HEALTH, should,
	    .script = MOR_CHECK_REQ "55,\"method\":\"plugin.health\"}\nimplemented 55 plugin.health\n"
				    "result 55 {\"status\":\"ok\",...}",
	    "\"ok\" is the only word that every host takes for healthy"),
	ROW("health.early", "answers plugin.health before plugin.init", HEALTH, should,
	    .script = HELLO "answered 1\n" MOR_CHECK_REQ "56,\"method\":\"plugin.health\"}\nanswered 56",
	    "health is asked at any time"),
	ROW("method.case", "compares method names exactly", "Message Format, Request", should,
	    .script = MOR_CHECK_REQ "57,\"method\":\"Plugin.Health\"}\nerror 57 -32601",
	    "method names are case-sensitive"),

	ROW("supports.answer", "answers extractor.supports", SUPPORTS, must,
	    .script = EXTRACTOR MOR_CHECK_REQ
	    "61,\"method\":\"extractor.supports\",\"params\":{\"mime_type\":\"application/x-executable\",\"extension\":\".elf\"}}\n"
	    "implemented 61 extractor.supports\nvalid 61 extractor.supports",
	    "answer {\"supported\":true or false}; confidence is between 0 and 1"),
	ROW("supports.unknown", "answers extractor.supports for a type that nobody knows", SUPPORTS, must,
	    .script = EXTRACTOR MOR_CHECK_REQ
	    "62,\"method\":\"extractor.supports\",\"params\":{\"mime_type\":\"application/x-mortise-check\",\"extension\":\".mortise-check\"}}\n"
	    "implemented 62 extractor.supports\nvalid 62 extractor.supports",
	    "answer {\"supported\":false}: it is a question, not an error"),
	ROW("supports.nothing", "refuses extractor.supports without type and extension", SUPPORTS, should,
	    .script = EXTRACTOR MOR_CHECK_REQ "63,\"method\":\"extractor.supports\",\"params\":{}}\n"
					      "implemented 63 extractor.supports\nerror 63 -32602\nalive",
	    "answer -32602: at least one of them is required"),

	ROW("extract.bytes", "extracts from bytes, or says why not", EXTRACT, must,
	    .script = EXTRACTING "{\"source\":{\"type\":\"bytes\",\"data\":\"aGVsbG8K\"}}}\nanswered 71\nalive",
	    "answer with a result, or with the error -32001 for a format that you do not know"),
	ROW("extract.options", "accepts the options that the real host sends", EXTRACT, must,
	    .script = EXTRACTING
	    "{\"options\":{\"extension\":\".txt\",\"mime_type\":\"text/plain\"},\"source\":{\"type\":\"bytes\",\"data\":\"aGVsbG8K\"}}}\nanswered "
	    "71\nalive",
	    "ignore options that you do not know"),
	ROW("extract.result", "answers extractor.extract as the specification says", EXTRACT, must,
	    .script = EXTRACTING "{\"source\":{\"type\":\"bytes\",\"data\":\"aGVsbG8K\"}}}\n"
				 "tells 71 extractor.extract",
	    "{\"success\":true,\"content\":\"...\"}, or {\"success\":false,\"error\":\"...\"}"),
	ROW("extract.missing-file", "fails for a file that is not there", EXTRACT, must,
	    .script = EXTRACTING "{\"source\":{\"type\":\"path\",\"path\":\"%W/not-there\"}}}\n"
				 "fails 71 extractor.extract\nalive",
	    "answer -32000, or {\"success\":false,\"error\":\"...\"}: an empty text would look like "
	    "success"),
	ROW("extract.no-source", "refuses extractor.extract without a source", EXTRACT, should,
	    .script = EXTRACTING "{}}\nerror 71 -32602\nalive", "answer -32602"),
	ROW("extract.source-type", "refuses a source of an unknown type", EXTRACT, should,
	    .script = EXTRACTING "{\"source\":{\"type\":\"mortise\"}}}\nerror 71 -32602\nalive",
	    "answer -32602"),
	ROW("extract.no-data", "refuses a source of type bytes without data", EXTRACT, should,
	    .script = EXTRACTING "{\"source\":{\"type\":\"bytes\"}}}\nfails 71 extractor.extract\nalive",
	    "answer -32602"),
	ROW("extract.bad-data", "refuses data that is not base64", EXTRACT, should,
	    .script = EXTRACTING "{\"source\":{\"type\":\"bytes\",\"data\":\"%%%%\"}}}\n"
				 "fails 71 extractor.extract\nalive",
	    "answer -32602: do not extract from what was decoded by guessing"),
	ROW("call.named", "answers the methods named by --call", "Transport, Process Management", must,
	    .fn = mor_check_calls, "every request with an id is answered, with a result or an error"),

	ROW("shutdown.answer", "answers plugin.shutdown, or exits", SHUTDOWN, must,
	    .script = MOR_CHECK_REQ "81,\"method\":\"plugin.shutdown\"}\nleaves 81",
	    "answer null, then clean up"),
	ROW("shutdown.null", "answers plugin.shutdown with null", SHUTDOWN, should,
	    .script = MOR_CHECK_REQ
	    "82,\"method\":\"plugin.shutdown\"}\nimplemented 82 plugin.shutdown\nresult 82 null",
	    "\"result\":null"),
	ROW("shutdown.exit", "exits after plugin.shutdown and the end of stdin", SHUTDOWN, must,
	    .script = "bye\nend\nexits", "leave the loop; the host sends SIGTERM 5 s after plugin.shutdown"),
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
