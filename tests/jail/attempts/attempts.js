// SPDX-License-Identifier: Apache-2.0
// attempts.js NAME KEY=VALUE...: what a Node plugin would try. One line of JSON; --list prints the table.
// Each attempt returns (or resolves to) true when it escaped, or throws.
'use strict';
const fs = require('fs');
const path = require('path');

const SECRET = 'MORTISE-SECRET';
const S = {};
const table = {};

function attempt(name, cls, expect, fn, more) {
	const usual = { row: 84, expect, net: expect, spawn: expect, write: false, bare: true, reaches: false };
	const told = Object.assign({ name: 'js_' + name, class: cls }, usual, more);
	table[told.name] = { told, fn };
}
const outside = (name = 'secret.txt') => path.join(S.dir, 'outside', name);
const has = (data) => String(data).includes(SECRET);
const once = (emitter, good) => new Promise((resolve, reject) => {
	emitter.on('error', reject);
	emitter.on(good, resolve);
});

// ---- read
attempt('read', 'read', 'D', () => has(fs.readFileSync(outside())));
attempt('read_dotdot', 'read', 'D', () => has(fs.readFileSync('../outside/secret.txt')));
attempt('read_link', 'read', 'D', () => has(fs.readFileSync('link')));
attempt('read_promise', 'read', 'D', async () => has(await fs.promises.readFile(outside())));
attempt('read_stream', 'read', 'D', () => once(fs.createReadStream(outside()), 'data').then(has));
attempt('read_proc_root', 'read', 'D', () => has(fs.readFileSync('/proc/self/root' + outside())));
attempt('readdir', 'read', 'D', () => fs.readdirSync(path.dirname(outside())).includes('secret.txt'));
attempt('passwd', 'read', 'B', () => String(fs.readFileSync('/etc/passwd')).trim().split('\n')
  .some((line) => ![0, 65534, process.getuid()].includes(Number(line.split(':')[2]))));
attempt('require_outside', 'read', 'D', () => has(require(outside('outside_module.js'))));
attempt('import_outside', 'read', 'D', async () => has((await import(outside('outside_module.mjs'))).default));
attempt('dlopen_outside', 'read', 'D', () => {
	try {
		process.dlopen({ exports: {} }, outside('library.so'));
	} catch (e) {
		// Loaded, though no addon.
		if (/did not self-register|undefined symbol/.test(e.message)) return true;
		throw e;
	}
	return true;
});
attempt('proc_environ', 'read', 'D', () => has(fs.readFileSync(`/proc/${S.host}/environ`)));
attempt('proc_mem', 'read', 'D', () => {
	const buf = Buffer.alloc(32);
	fs.readSync(fs.openSync(`/proc/${S.host}/mem`, 'r'), buf, 0, 32, Number(S.address));
	return has(buf);
});
attempt('environment', 'read', 'B', () => Object.values(process.env).some(has));
attempt('stat', 'metadata', 'M', () => fs.statSync(outside()).size > 0);

// ---- write
attempt('write_ws', 'write', 'D', () => { fs.writeFileSync('new.txt', 'x'); return true; });
attempt('write_out', 'write', 'D', () => { fs.writeFileSync(outside('new.txt'), 'x'); return true; });
attempt('append_ws', 'write', 'D', () => { fs.appendFileSync('data.txt', 'x'); return true; });
attempt('unlink_ws', 'write', 'D', () => { fs.unlinkSync('data.txt'); return true; });
attempt('chmod_ws', 'write', 'D', () => { fs.chmodSync('data.txt', 0o600); return true; });
attempt('copy_out', 'write', 'D', () => { fs.copyFileSync('data.txt', outside('copy')); return true; });
attempt('link_write', 'write', 'D', () => {
	fs.symlinkSync(outside('victim.txt'), 'soft');
	fs.writeFileSync('soft', 'x');
	return true;
}, { write: true });
attempt('hard_link', 'read', 'D', () => {
	fs.linkSync(outside(), 'hard');
	return has(fs.readFileSync('hard'));
}, { write: true });
attempt('rename_in', 'read', 'D', () => {
	fs.renameSync(outside(), 'taken');
	return has(fs.readFileSync('taken'));
}, { write: true });

// ---- spawn
const spawnSync = () => {
	const done = require('child_process').spawnSync('/bin/true');
	if (done.error) throw done.error;
	return done.status === 0;
};
const granted = { spawn: 'A' };
attempt('spawn_sync', 'spawn', 'D', spawnSync, granted);
const ended = (child) => once(child, 'exit').then((code) => code === 0);
attempt('spawn', 'spawn', 'D', () => ended(require('child_process').spawn('/bin/true')), granted);
attempt('exec', 'spawn', 'D', () => require('child_process').execSync('echo x').length > 0, granted);
const empty = () => path.join(S.dir, 'plugin', 'empty.js');
attempt('fork', 'spawn', 'D', () => ended(require('child_process').fork(empty())), granted);
attempt('cluster', 'spawn', 'D', () => {
	const cluster = require('cluster');
	cluster.setupPrimary({ exec: empty() });
	return ended(cluster.fork());
}, { spawn: '?' });
attempt('worker_spawn', 'spawn', 'D', () => {
	const { Worker } = require('worker_threads');
	const code = "const r = require('child_process').spawnSync('/bin/true');" +
		"require('worker_threads').parentPort.postMessage(r.status === 0);";
	return once(new Worker(code, { eval: true }), 'message');
}, granted);
attempt('exit_spawn', 'spawn', 'D', () => {
	process.on('exit', () => report('js_exit_spawn', spawnSync(), 'at exit'));
	return false;
}, granted);
attempt('signal_spawn', 'spawn', 'D', () => new Promise((resolve, reject) => {
	process.on('SIGUSR2', () => {
		try { resolve(spawnSync()); } catch (e) { reject(e); }
	});
	process.kill(process.pid, 'SIGUSR2');
	setTimeout(() => reject(new Error('no signal came')), 120000);
}), granted);

// ---- network and IPC
const open = { net: 'A' };
const net = () => require('net');
attempt('tcp', 'network', 'D', () => once(net().connect(Number(S.port), '127.0.0.1'), 'data').then(has), open);
attempt('http', 'network', 'D', () => new Promise((resolve, reject) => {
	// HPE_: answered, not in HTTP.
	require('http').get({ host: '127.0.0.1', port: Number(S.port) }, () => resolve(true))
		.on('error', (e) => (e.code && e.code.startsWith('HPE_') ? resolve(true) : reject(e)));
}), open);
attempt('fetch', 'network', 'D', () => fetch(`http://127.0.0.1:${S.port}/`).then(() => true, (e) => {
	if (e.cause && /HTTP|Parse|Expected/.test(String(e.cause.message))) return true;
	throw e.cause || e;
}), { net: '?' });
attempt('udp', 'network', 'D', () => new Promise((resolve, reject) => {
	const s = require('dgram').createSocket('udp4');
	s.on('error', reject);
	s.send('x', Number(S.port), '127.0.0.1', (e) => { s.close(); e ? reject(e) : resolve(true); });
}), open);
attempt('listen', 'network', 'D', () => {
	const server = net().createServer();
	server.listen(0, '127.0.0.1');
	return once(server, 'listening').then(() => { server.close(); return true; });
}, open);
attempt('inspector', 'network', 'D', () => {
	const inspector = require('inspector');
	inspector.open(0, '127.0.0.1');
	const url = inspector.url();
	inspector.close();
	return Boolean(url);
}, { net: '?' });
const data_of = (name) => once(net().connect(name), 'data').then(has);
attempt('unix_path', 'ipc', 'D', () => data_of(outside('host.sock')), { net: 'E' });
attempt('unix_abstract', 'ipc', 'D', () => data_of('\0' + S.abstract), { net: 'E' });
attempt('unix_listen', 'ipc', 'D', () => {
	const server = net().createServer();
	server.listen(path.join(S.dir, 'ws', 'mine.sock'));
	return once(server, 'listening').then(() => { server.close(); return true; });
}, { net: 'E' });

// ---- host and kernel
attempt('kill', 'host', 'D', () => process.kill(Number(S.host), 'SIGUSR1'));
attempt('priority', 'host', 'B', () => { require('os').setPriority(Number(S.host), 5); return true; });
attempt('setuid', 'kernel', 'E', () => { process.setuid(process.getuid() ? 0 : 1); return true; });

function report(name, escaped, how, errno) {
	fs.writeSync(1, JSON.stringify({ name, escaped: Boolean(escaped), errno: errno || 0, how }) + '\n');
}

async function main() {
	const [name, ...pairs] = process.argv.slice(2);
	if (name === '--list') {
		for (const { told } of Object.values(table)) console.log(JSON.stringify(told));
		return;
	}
	for (const pair of pairs) S[pair.slice(0, pair.indexOf('='))] = pair.slice(pair.indexOf('=') + 1);
	try {
		report(name, await table[name].fn(), 'node');
	} catch (e) {
		report(name, false, String(e && e.message), Math.abs(e && e.errno) || 0);
	}
	process.exit(0);
}

main();
