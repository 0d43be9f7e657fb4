// SPDX-License-Identifier: Apache-2.0
// node validate.mjs MODULES FILE...: each FILE is an OpenRPC document. MODULES is where package.json
// was installed. TAP.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";

const [modules, ...files] = process.argv.slice(2);
const load = createRequire(modules + "/package.json");
const Ajv = load("ajv").default;

// Both meta-schemas name themselves as their own language, which ajv does not know: it takes them for draft 7.
// One names the other with and without the slash.
function plain({ $schema, ...schema }) {
	const name = "https://meta.json-schema.tools";
	return JSON.parse(JSON.stringify(schema).replaceAll(`"${name}"`, `"${name}/"`));
}
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema(plain(load("@json-schema-tools/meta-schema").default));
const isDocument = ajv.compile(plain(load("@open-rpc/meta-schema").default));

function* twice(names) {
	const seen = new Set();
	for (const name of names) {
		if (seen.has(name)) yield name;
		seen.add(name);
	}
}

// A schema that compiles, and whose defaults it accepts itself.
function* schemaFaults(schema, where) {
	try {
		const accepts = new Ajv({ strict: false }).compile(schema);
		if ("default" in schema && !accepts(schema.default))
			yield `${where}: its own schema refuses the default ${JSON.stringify(schema.default)}`;
	} catch (error) {
		yield `${where}: ${error.message}`;
		return;
	}
	for (const [name, below] of Object.entries(schema.properties ?? {}))
		yield* schemaFaults(below, `${where}/${name}`);
	if (schema.items) yield* schemaFaults(schema.items, `${where}/[]`);
}

function* methodFaults(method) {
	for (const name of twice(method.params.map((param) => param.name)))
		yield `${method.name}: param ${name} twice`;
	const optional = method.params.findIndex((param) => !param.required);
	if (optional >= 0 && method.params.slice(optional).some((param) => param.required))
		yield `${method.name}: a required param after an optional one`;
	for (const param of method.params)
		yield* schemaFaults(param.schema, `${method.name} params/${param.name}`);
	yield* schemaFaults(method.result.schema, `${method.name} result`);
}

function* faults(document) {
	if (!isDocument(document))
		for (const error of isDocument.errors) yield `${error.instancePath || "/"} ${error.message}`;
	for (const name of twice(document.methods.map((method) => method.name))) yield `method ${name} twice`;
	for (const method of document.methods) yield* methodFaults(method);
}

// A validator that takes anything would prove nothing.
function selfTest() {
	const good = { openrpc: "1.2.6", info: { title: "t", version: "1" }, methods: [] };
	const method = { name: "m", params: [], result: { name: "r", schema: { type: "string" } } };
	const bad = [
		{ ...good, openrpc: undefined },
		{ ...good, info: { title: "t" } },
		{ ...good, surplus: 1 },
		{ ...good, methods: [{ ...method, params: {} }] },
		{ ...good, methods: [{ ...method, result: { name: "r", schema: { type: "text" } } }] },
		{ ...good, methods: [method, method] },
	];
	const found = (document) => [...faults(JSON.parse(JSON.stringify(document)))].length > 0;
	return !found({ ...good, methods: [method] }) && bad.every((document) => {
		try {
			return found(document);
		} catch {
			return true; // so wrong that it cannot be walked
		}
	});
}

console.log(`1..${files.length + 1}`);
console.log(`${selfTest() ? "ok" : "not ok"} 1 - the validator refuses what is wrong`);
files.forEach((file, index) => {
	const found = [...faults(JSON.parse(readFileSync(file, "utf8")))];
	console.log(`${found.length ? "not ok" : "ok"} ${index + 2} - ${basename(file, ".json")}`);
	for (const fault of found) console.log(`# ${fault}`);
});
