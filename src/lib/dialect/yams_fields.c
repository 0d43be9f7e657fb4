/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The params and results of yams. What the specification requires but real plugins leave out is
 * MOR_F_STRICT_ONLY; what they spell differently is `also`.
 */
#include "dialect/yams_fields.h"

/* ---- handshake.manifest ---- */

static const struct mor_field interfaces[] = {
	{ "[]", MOR_T_STRING, MOR_F_STRICT_ONLY,
	  .doc = "Interface ID; unless strict also an object that holds it as id" },
	{ 0 },
};
static const struct mor_field strings[] = {
	{ "[]", MOR_T_STRING, .flags = MOR_F_STRICT_ONLY },
	{ 0 },
};
/* What a plugin says about itself, except its name, must never stop it from running: all these rules are for
 * --strict. */
static const struct mor_field content_extraction[] = {
	{ "formats", MOR_T_ARRAY, MOR_F_STRICT_ONLY, .doc = "MIME types it can read", .fields = strings },
	{ "extensions", MOR_T_ARRAY, MOR_F_STRICT_ONLY,
	  .doc = "File extensions it can read, with or without the dot", .fields = strings },
	{ 0 },
};
static const struct mor_field kg_entities[] = {
	{ "rpc_method", MOR_T_STRING, MOR_F_STRICT_ONLY, .def = "\"ghidra.getEntities\"",
	  .doc = "Method that gives a page of entities" },
	{ "extensions", MOR_T_ARRAY, MOR_F_STRICT_ONLY, .doc = "File extensions it can read",
	  .fields = strings },
	{ "node_types", MOR_T_ARRAY, MOR_F_STRICT_ONLY, .doc = "Types of the nodes it makes" },
	{ "edge_relations", MOR_T_ARRAY, MOR_F_STRICT_ONLY, .doc = "Relations of the edges it makes" },
	{ 0 },
};
static const struct mor_field capabilities[] = {
	{ "content_extraction", MOR_T_OBJECT, MOR_F_STRICT_ONLY, .doc = "What content_extractor_v1 can read",
	  .fields = content_extraction },
	{ "kg_entities", MOR_T_OBJECT, MOR_F_STRICT_ONLY, .doc = "What kg_entity_provider_v1 gives",
	  .fields = kg_entities },
	{ 0 },
};
const struct mor_field mor_yams_manifest_result[] = {
	{ "name", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Plugin identifier (alphanumeric + underscore)" },
	{ "version", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Semantic version, e.g. \"1.0.0\"" },
	{ "description", MOR_T_STRING, MOR_F_STRICT_ONLY, .doc = "Human-readable description" },
	{ "author", MOR_T_STRING, MOR_F_STRICT_ONLY, .doc = "Plugin author" },
	{ "interfaces", MOR_T_ARRAY, MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Supported interface IDs; inferred from the capabilities where missing",
	  .fields = interfaces },
	{ "capabilities", MOR_T_OBJECT, MOR_F_STRICT_ONLY, .doc = "Detailed capability metadata",
	  .fields = capabilities },
	{ 0 },
};

/* ---- plugin.init, plugin.health ---- */

const struct mor_field mor_yams_init_params[] = {
	{ "config", MOR_T_OBJECT, MOR_F_REQUIRED, .def = "{}",
	  .doc = "Plugin-specific configuration: [config]" },
	{ "*", MOR_T_ANY,
	  .doc = "The configuration's own keys once more, for plugins that read params as the real host sends "
		 "them (quirk init_params)" },
	{ 0 },
};
const struct mor_field mor_yams_init_result[] = {
	{ "status", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .one_of = "initialized|error",
	  .doc = "\"error\" refuses the start; any other value is taken as success" },
	{ "config_applied", MOR_T_OBJECT, .doc = "Actually applied configuration" },
	{ 0 },
};
const struct mor_field mor_yams_health_result[] = {
	{ "status", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .one_of = "ok|degraded|error",
	  .doc = "The verdict; \"healthy\" counts as ok" },
	{ "*", MOR_T_ANY, .doc = "Additional fields are plugin-specific" },
	{ 0 },
};

/* ---- content_extractor_v1 ---- */

const struct mor_field mor_yams_supports_params[] = {
	{ "mime_type", MOR_T_STRING, MOR_F_ANY_OF, .doc = "MIME type, e.g. \"application/x-executable\"" },
	{ "extension", MOR_T_STRING, MOR_F_ANY_OF, .doc = "File extension, e.g. \".elf\"" },
	{ 0 },
};
const struct mor_field mor_yams_supports_result[] = {
	{ "supported", MOR_T_BOOL, MOR_F_REQUIRED, .doc = "True if plugin can handle this file type" },
	{ "confidence", MOR_T_NUMBER, .def = "1.0", .doc = "Confidence level (0.0-1.0)", .min = 0.0,
	  .max = 1.0 },
	{ "method", MOR_T_STRING, .doc = "Extraction method name" },
	{ 0 },
};
static const struct mor_field source[] = {
	{ "type", MOR_T_STRING, MOR_F_REQUIRED, .one_of = "path|bytes", .doc = "How the content comes" },
	{ "path", MOR_T_STRING, MOR_F_REQUIRED, .doc = "Temporary file path", .when = "type=path" },
	{ "data", MOR_T_STRING, MOR_F_REQUIRED, .doc = "Base64-encoded binary data", .when = "type=bytes" },
	{ 0 },
};
static const struct mor_field extract_options[] = {
	{ "max_functions", MOR_T_INT, .def = "100", .doc = "Maximum functions to extract" },
	{ "decompile", MOR_T_BOOL, .def = "true", .doc = "Include decompiled code" },
	{ "include_metadata", MOR_T_BOOL, .def = "true", .doc = "Include metadata" },
	{ "timeout_sec", MOR_T_INT, .def = "10", .doc = "Per-function timeout" },
	{ "mime_type", MOR_T_STRING, MOR_F_BEYOND, .doc = "MIME type of the content (real hosts send it)" },
	{ "extension", MOR_T_STRING, MOR_F_BEYOND, .doc = "Its file extension (real hosts send it)" },
	{ 0 },
};
const struct mor_field mor_yams_extract_params[] = {
	{ "source", MOR_T_OBJECT, MOR_F_REQUIRED, .doc = "Content source", .fields = source },
	{ "options", MOR_T_OBJECT, MOR_F_CLOSED, .doc = "Extraction options", .fields = extract_options },
	{ 0 },
};
static const struct mor_field extract_stats[] = {
	{ "*", MOR_T_ANY, .doc = "Plugin-specific counters" },
	{ 0 },
};
const struct mor_field mor_yams_extract_result[] = {
	{ "success", MOR_T_BOOL, MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .doc = "True if extraction succeeded" },
	{ "content", MOR_T_STRING | MOR_T_NULL, .also = "text", .flags = MOR_F_REQUIRED,
	  .doc = "Extracted searchable text", .when = "success=true" },
	{ "metadata", MOR_T_OBJECT, .doc = "Key-value metadata" },
	{ "stats", MOR_T_OBJECT, .doc = "Extraction statistics", .fields = extract_stats },
	{ "error", MOR_T_ANY, .doc = "Real plugins' way to say that it failed: anything but null" },
	{ 0 },
};

/* ---- kg_entity_provider_v1: in real use, absent from the specification ---- */

static const struct mor_field entities_opts[] = {
	{ "offset", MOR_T_INT, .def = "0", .doc = "Where the page begins: next_offset of the last one" },
	{ "limit", MOR_T_INT,
	  .doc = "Functions per page; real hosts send 1000 below 1 MB, 500 below 5, 200 below 20, 100 below "
		 "50, else 50" },
	{ "include_decompiled", MOR_T_BOOL, .def = "false", .doc = "With decompiled code" },
	{ "include_call_graph", MOR_T_BOOL, .def = "true", .doc = "With edges between functions" },
	{ 0 },
};
const struct mor_field mor_yams_entities_params[] = {
	{ "source", MOR_T_OBJECT, MOR_F_REQUIRED, .doc = "Content source", .fields = source },
	{ "opts", MOR_T_OBJECT, .doc = "Paging (\"opts\", not \"options\")", .fields = entities_opts },
	{ 0 },
};
static const struct mor_field entity_node[] = {
	{ "node_key", MOR_T_STRING, MOR_F_REQUIRED, .doc = "Key that edges name" },
	{ "label", MOR_T_STRING | MOR_T_NULL, .doc = "Name to show" },
	{ "type", MOR_T_STRING | MOR_T_NULL, .doc = "One of node_types" },
	{ "properties", MOR_T_OBJECT | MOR_T_NULL, .doc = "More about it" },
	{ 0 },
};
static const struct mor_field entity_edge[] = {
	{ "src_key", MOR_T_STRING, MOR_F_REQUIRED, .doc = "From this node" },
	{ "dst_key", MOR_T_STRING, MOR_F_REQUIRED, .doc = "To this node" },
	{ "relation", MOR_T_STRING, MOR_F_REQUIRED, .doc = "One of edge_relations" },
	{ "weight", MOR_T_NUMBER | MOR_T_NULL, .doc = "Its weight" },
	{ "properties", MOR_T_OBJECT | MOR_T_NULL, .doc = "More about it" },
	{ 0 },
};
static const struct mor_field entity_alias[] = {
	{ "node_key", MOR_T_STRING, MOR_F_REQUIRED, .doc = "The node" },
	{ "alias", MOR_T_STRING, MOR_F_REQUIRED, .doc = "Another name of it" },
	{ "source", MOR_T_STRING | MOR_T_NULL, .doc = "Where the name comes from" },
	{ "confidence", MOR_T_NUMBER | MOR_T_NULL, .doc = "How sure the plugin is" },
	{ 0 },
};
const struct mor_field mor_yams_entities_result[] = {
	{ "nodes", MOR_T_ARRAY, .doc = "Entities of this page", .fields = entity_node },
	{ "edges", MOR_T_ARRAY, .doc = "How they relate", .fields = entity_edge },
	{ "aliases", MOR_T_ARRAY, .doc = "Other names of them", .fields = entity_alias },
	{ "binary_sha", MOR_T_STRING | MOR_T_NULL, .doc = "Hash of the content" },
	{ "total_functions", MOR_T_INT, .doc = "How many there are in all pages" },
	{ "next_offset", MOR_T_INT | MOR_T_NULL, .doc = "Where the next page begins" },
	{ "has_more", MOR_T_BOOL, .def = "false", .doc = "True while there is a next page" },
	{ 0 },
};
