/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The params and results of yams. What the specification requires but real plugins leave out is
 * MOR_F_STRICT_ONLY; what they spell differently is `also`.
 */
#include "dialect/yams_fields.h"

/* ---- handshake.manifest ---- */

static const struct mor_field interfaces[] = {
	{ .name = "[]",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "Interface ID; unless strict also an object that holds it as id" },
	{ 0 },
};
static const struct mor_field strings[] = {
	{ .name = "[]", .type = MOR_T_STRING, .flags = MOR_F_STRICT_ONLY },
	{ 0 },
};
/* What a plugin says about itself, except its name, must never stop it from running: all these rules are for
 * --strict. */
static const struct mor_field content_extraction[] = {
	{ .name = "formats",
	  .type = MOR_T_ARRAY,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "MIME types it can read",
	  .fields = strings },
	{ .name = "extensions",
	  .type = MOR_T_ARRAY,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "File extensions it can read, with or without the dot",
	  .fields = strings },
	{ 0 },
};
static const struct mor_field kg_entities[] = {
	{ .name = "rpc_method",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_STRICT_ONLY,
	  .def = "\"ghidra.getEntities\"",
	  .doc = "Method that gives a page of entities" },
	{ .name = "extensions",
	  .type = MOR_T_ARRAY,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "File extensions it can read",
	  .fields = strings },
	{ .name = "node_types",
	  .type = MOR_T_ARRAY,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "Types of the nodes it makes" },
	{ .name = "edge_relations",
	  .type = MOR_T_ARRAY,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "Relations of the edges it makes" },
	{ 0 },
};
static const struct mor_field capabilities[] = {
	{ .name = "content_extraction",
	  .type = MOR_T_OBJECT,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "What content_extractor_v1 can read",
	  .fields = content_extraction },
	{ .name = "kg_entities",
	  .type = MOR_T_OBJECT,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "What kg_entity_provider_v1 gives",
	  .fields = kg_entities },
	{ 0 },
};
const struct mor_field mor_yams_manifest_result[] = {
	{ .name = "name",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Plugin identifier (alphanumeric + underscore)" },
	{ .name = "version",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Semantic version, e.g. \"1.0.0\"" },
	{ .name = "description",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "Human-readable description" },
	{ .name = "author", .type = MOR_T_STRING, .flags = MOR_F_STRICT_ONLY, .doc = "Plugin author" },
	{ .name = "interfaces",
	  .type = MOR_T_ARRAY,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Supported interface IDs; inferred from the capabilities where missing",
	  .fields = interfaces },
	{ .name = "capabilities",
	  .type = MOR_T_OBJECT,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "Detailed capability metadata",
	  .fields = capabilities },
	{ 0 },
};

/* ---- plugin.init, plugin.health ---- */

const struct mor_field mor_yams_init_params[] = {
	{ .name = "config",
	  .type = MOR_T_OBJECT,
	  .flags = MOR_F_REQUIRED,
	  .def = "{}",
	  .doc = "Plugin-specific configuration: [config]" },
	{ .name = "*",
	  .type = MOR_T_ANY,
	  .doc = "The configuration's own keys once more, for plugins that read params as the real host sends "
		 "them (quirk init_params)" },
	{ 0 },
};
const struct mor_field mor_yams_init_result[] = {
	{ .name = "status",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .one_of = "initialized|error",
	  .doc = "\"error\" refuses the start; any other value is taken as success" },
	{ .name = "config_applied", .type = MOR_T_OBJECT, .doc = "Actually applied configuration" },
	{ 0 },
};
const struct mor_field mor_yams_health_result[] = {
	{ .name = "status",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .one_of = "ok|degraded|error",
	  .doc = "The verdict; \"healthy\" counts as ok" },
	{ .name = "*", .type = MOR_T_ANY, .doc = "Additional fields are plugin-specific" },
	{ 0 },
};

/* ---- content_extractor_v1 ---- */

const struct mor_field mor_yams_supports_params[] = {
	{ .name = "mime_type",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_ANY_OF,
	  .doc = "MIME type, e.g. \"application/x-executable\"" },
	{ .name = "extension",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_ANY_OF,
	  .doc = "File extension, e.g. \".elf\"" },
	{ 0 },
};
const struct mor_field mor_yams_supports_result[] = {
	{ .name = "supported",
	  .type = MOR_T_BOOL,
	  .flags = MOR_F_REQUIRED,
	  .doc = "True if plugin can handle this file type" },
	{ .name = "confidence",
	  .type = MOR_T_NUMBER,
	  .def = "1.0",
	  .doc = "Confidence level (0.0-1.0)",
	  .min = 0.0,
	  .max = 1.0 },
	{ .name = "method", .type = MOR_T_STRING, .doc = "Extraction method name" },
	{ 0 },
};
static const struct mor_field source[] = {
	{ .name = "type",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED,
	  .one_of = "path|bytes",
	  .doc = "How the content comes" },
	{ .name = "path",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED,
	  .doc = "Temporary file path",
	  .when = "type=path" },
	{ .name = "data",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED,
	  .doc = "Base64-encoded binary data",
	  .when = "type=bytes" },
	{ 0 },
};
static const struct mor_field extract_options[] = {
	{ .name = "max_functions", .type = MOR_T_INT, .def = "100", .doc = "Maximum functions to extract" },
	{ .name = "decompile", .type = MOR_T_BOOL, .def = "true", .doc = "Include decompiled code" },
	{ .name = "include_metadata", .type = MOR_T_BOOL, .def = "true", .doc = "Include metadata" },
	{ .name = "timeout_sec", .type = MOR_T_INT, .def = "10", .doc = "Per-function timeout" },
	{ .name = "mime_type",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_BEYOND,
	  .doc = "MIME type of the content (real hosts send it)" },
	{ .name = "extension",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_BEYOND,
	  .doc = "Its file extension (real hosts send it)" },
	{ 0 },
};
const struct mor_field mor_yams_extract_params[] = {
	{ .name = "source",
	  .type = MOR_T_OBJECT,
	  .flags = MOR_F_REQUIRED,
	  .doc = "Content source",
	  .fields = source },
	{ .name = "options",
	  .type = MOR_T_OBJECT,
	  .flags = MOR_F_CLOSED,
	  .doc = "Extraction options",
	  .fields = extract_options },
	{ 0 },
};
static const struct mor_field extract_stats[] = {
	{ .name = "*", .type = MOR_T_ANY, .doc = "Plugin-specific counters" },
	{ 0 },
};
const struct mor_field mor_yams_extract_result[] = {
	{ .name = "success",
	  .type = MOR_T_BOOL,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "True if extraction succeeded" },
	{ .name = "content",
	  .also = "text",
	  .type = MOR_T_STRING | MOR_T_NULL,
	  .flags = MOR_F_REQUIRED,
	  .doc = "Extracted searchable text",
	  .when = "success=true" },
	{ .name = "metadata", .type = MOR_T_OBJECT, .doc = "Key-value metadata" },
	{ .name = "stats", .type = MOR_T_OBJECT, .doc = "Extraction statistics", .fields = extract_stats },
	{ .name = "error",
	  .type = MOR_T_ANY,
	  .doc = "Real plugins' way to say that it failed: anything but null" },
	{ 0 },
};

/* ---- kg_entity_provider_v1: in real use, absent from the specification ---- */

static const struct mor_field entities_opts[] = {
	{ .name = "offset",
	  .type = MOR_T_INT,
	  .def = "0",
	  .doc = "Where the page begins: next_offset of the last one" },
	{ .name = "limit",
	  .type = MOR_T_INT,
	  .doc = "Functions per page; real hosts send 1000 below 1 MB, 500 below 5, 200 below 20, 100 below "
		 "50, else 50" },
	{ .name = "include_decompiled", .type = MOR_T_BOOL, .def = "false", .doc = "With decompiled code" },
	{ .name = "include_call_graph",
	  .type = MOR_T_BOOL,
	  .def = "true",
	  .doc = "With edges between functions" },
	{ 0 },
};
const struct mor_field mor_yams_entities_params[] = {
	{ .name = "source",
	  .type = MOR_T_OBJECT,
	  .flags = MOR_F_REQUIRED,
	  .doc = "Content source",
	  .fields = source },
	{ .name = "opts",
	  .type = MOR_T_OBJECT,
	  .doc = "Paging (\"opts\", not \"options\")",
	  .fields = entities_opts },
	{ 0 },
};
static const struct mor_field entity_node[] = {
	{ .name = "node_key", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .doc = "Key that edges name" },
	{ .name = "label", .type = MOR_T_STRING | MOR_T_NULL, .doc = "Name to show" },
	{ .name = "type", .type = MOR_T_STRING | MOR_T_NULL, .doc = "One of node_types" },
	{ .name = "properties", .type = MOR_T_OBJECT | MOR_T_NULL, .doc = "More about it" },
	{ 0 },
};
static const struct mor_field entity_edge[] = {
	{ .name = "src_key", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .doc = "From this node" },
	{ .name = "dst_key", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .doc = "To this node" },
	{ .name = "relation", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .doc = "One of edge_relations" },
	{ .name = "weight", .type = MOR_T_NUMBER | MOR_T_NULL, .doc = "Its weight" },
	{ .name = "properties", .type = MOR_T_OBJECT | MOR_T_NULL, .doc = "More about it" },
	{ 0 },
};
static const struct mor_field entity_alias[] = {
	{ .name = "node_key", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .doc = "The node" },
	{ .name = "alias", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .doc = "Another name of it" },
	{ .name = "source", .type = MOR_T_STRING | MOR_T_NULL, .doc = "Where the name comes from" },
	{ .name = "confidence", .type = MOR_T_NUMBER | MOR_T_NULL, .doc = "How sure the plugin is" },
	{ 0 },
};
const struct mor_field mor_yams_entities_result[] = {
	{ .name = "nodes", .type = MOR_T_ARRAY, .doc = "Entities of this page", .fields = entity_node },
	{ .name = "edges", .type = MOR_T_ARRAY, .doc = "How they relate", .fields = entity_edge },
	{ .name = "aliases", .type = MOR_T_ARRAY, .doc = "Other names of them", .fields = entity_alias },
	{ .name = "binary_sha", .type = MOR_T_STRING | MOR_T_NULL, .doc = "Hash of the content" },
	{ .name = "total_functions", .type = MOR_T_INT, .doc = "How many there are in all pages" },
	{ .name = "next_offset", .type = MOR_T_INT | MOR_T_NULL, .doc = "Where the next page begins" },
	{ .name = "has_more", .type = MOR_T_BOOL, .def = "false", .doc = "True while there is a next page" },
	{ 0 },
};
