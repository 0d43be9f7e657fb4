// SPDX-License-Identifier: Apache-2.0
// A tour of Node's library by a plugin that means no harm: nothing of it may look like an escape.
// Prints `ok NAME` or `FAILED NAME: why`; exits with 1 if any failed. The working directory is the workspace.
'use strict';
const assert = require('assert');
const fs = require('fs');
const os = require('os');
const path = require('path');

const scratch = () => fs.mkdtempSync(path.join(os.tmpdir(), 'tour-'));

const cases = {
	read: () => assert.strictEqual(fs.readFileSync('data.txt', 'utf8'), 'data\n'),
	async read_promise() { assert.strictEqual(await fs.promises.readFile('data.txt', 'utf8'), 'data\n'); },
	read_stream: () => new Promise((resolve, reject) =>
		fs.createReadStream('data.txt').on('error', reject).on('data', () => {}).on('end', resolve)),
	readdir: () => assert(fs.readdirSync('.').includes('data.txt')),
	async opendir() { for await (const entry of await fs.promises.opendir('sub')) assert(entry.name); },
	realpath: () => assert(fs.realpathSync('sub/../data.txt').endsWith('data.txt')),
	stat: () => assert(fs.statSync('data.txt').isFile()),
	missing: () => assert.throws(() => fs.readFileSync('no-such-file'), { code: 'ENOENT' }),
	missing_outside: () =>
		assert.throws(() => fs.readFileSync('/nonexistent/mortise.conf'), { code: 'ENOENT' }),
	scratch_files() {
		const dir = scratch();
		fs.writeFileSync(path.join(dir, 'a'), 'x');
		fs.renameSync(path.join(dir, 'a'), path.join(dir, 'b'));
		fs.copyFileSync(path.join(dir, 'b'), path.join(dir, 'c'));
		fs.appendFileSync(path.join(dir, 'c'), 'y');
		assert.strictEqual(fs.readFileSync(path.join(dir, 'c'), 'utf8'), 'xy');
		fs.rmSync(dir, { recursive: true });
	},
	async scratch_stream() {
		const file = path.join(scratch(), 'stream');
		const some = require('stream').Readable.from(['a', 'b']);
		await require('stream/promises').pipeline(some, fs.createWriteStream(file));
		assert.strictEqual(fs.readFileSync(file, 'utf8'), 'ab');
	},
	home() {
		const file = path.join(os.homedir(), '.tour-state');
		fs.writeFileSync(file, 'x');
		fs.unlinkSync(file);
	},
	require_builtin() {
		for (const name of require('module').builtinModules)
			if (!name.startsWith('_') && !/^(inspector|wasi|trace_events|repl|sys|punycode)/.test(name))
				require(name);
	},
	require_missing: () => assert.throws(() => require('no-such-package'), { code: 'MODULE_NOT_FOUND' }),
	async import_builtin() { assert((await import('node:path')).join); },
	async timers() { await require('timers/promises').setTimeout(5); },
	immediate: () => new Promise(setImmediate),
	async microtask() { await null; },
	worker: () => new Promise((resolve, reject) => {
		const { Worker } = require('worker_threads');
		new Worker("require('worker_threads').parentPort.postMessage(6 * 7)", { eval: true })
			.on('message', (n) => (n === 42 ? resolve() : reject(n))).on('error', reject);
	}),
	hash: () =>
		assert(require('crypto').createHash('sha256').update('x').digest('hex').startsWith('2d711642')),
	random: () => assert.strictEqual(require('crypto').randomBytes(16).length, 16),
	uuid: () => assert(require('crypto').randomUUID()),
	async keys() {
		await require('util').promisify(require('crypto').generateKeyPair)('ec', { namedCurve: 'P-256' });
	},
	async scrypt() { await require('util').promisify(require('crypto').scrypt)('x', 'y', 16); },
	async zlib() {
		const z = require('zlib');
		const packed = await require('util').promisify(z.gzip)('x'.repeat(1000));
		assert.strictEqual(z.gunzipSync(packed).length, 1000);
		z.brotliCompressSync('x');
	},
	buffers: () => assert.strictEqual(Buffer.from('ü').length, 2),
	url: () => assert.strictEqual(new URL('http://a/b?c=d').searchParams.get('c'), 'd'),
	intl: () => assert(new Intl.DateTimeFormat('de', { timeZone: 'Europe/Berlin' }).format(new Date(0))),
	vm: () => assert.strictEqual(require('vm').runInNewContext('1 + 1'), 2),
	wasm: () => assert(new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0))),
	jit() {
		let sum = 0;
		for (let i = 0; i < 3e6; i++) sum = (sum + i * i) | 0;
		assert(Number.isInteger(sum));
	},
	memory: () => assert.strictEqual(Buffer.alloc(32 << 20).length, 32 << 20),
	system_facts() {
		assert(os.cpus().length && os.totalmem() && os.freemem() && os.loadavg());
		assert(os.hostname() && os.release() && process.uptime() && process.cwd());
		assert(process.memoryUsage().rss && process.resourceUsage());
	},
	signal: () => new Promise((resolve, reject) => {
		// Also keeps the loop alive.
		const late = setTimeout(() => reject(new Error('no signal came')), 120000);
		process.once('SIGUSR2', () => { clearTimeout(late); resolve(); });
		process.kill(process.pid, 'SIGUSR2');
	}),
	async async_hooks() {
		const { AsyncLocalStorage } = require('async_hooks');
		const store = new AsyncLocalStorage();
		await store.run(1, async () => { await null; assert.strictEqual(store.getStore(), 1); });
	},
	async performance() { assert(require('perf_hooks').performance.now() > 0); },
	readline: () => new Promise((resolve) => {
		const lines = require('readline').createInterface({ input: fs.createReadStream('data.txt') });
		lines.on('close', resolve).on('line', () => {});
	}),
	async many_opens() {
		await Promise.all(Array.from({ length: 100 }, () => fs.promises.readFile('data.txt')));
	},
	stderr: () => fs.writeSync(2, ''),
	gc_pressure() { for (let i = 0; i < 200; i++) Buffer.alloc(1 << 18); },
};

async function main() {
	let failed = 0;
	for (const [name, fn] of Object.entries(cases)) {
		try {
			await fn();
			fs.writeSync(1, `ok ${name}\n`);
		} catch (e) {
			failed++;
			fs.writeSync(1, `FAILED ${name}: ${e && e.message}\n`);
		}
	}
	fs.writeSync(1, 'done\n'); // a loop that runs empty early would end with 0 as well
	process.exit(failed ? 1 : 0);
}

main();
