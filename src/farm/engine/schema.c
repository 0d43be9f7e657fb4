/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only the functions are for others: they run with the rights of who made the schema, and the roles may call
 * those of their row alone. A step of tables is never changed once it was released; a new version is a new
 * step. Functions are made anew by every init.
 *
 * State: 0 waits, 1 leased, 2 done, 3 poisoned (enum mor_farm_state).
 */
#include "engine/schema.h"

#include "engine/farm.h"

#define OURS      " security definer set search_path = mortise_farm, pg_temp as $$ "
#define QUOTE_(x) #x
#define QUOTE(x)  QUOTE_(x)

#define NAME_KEPT    200 /* letters of a unit's name, and of why it failed */
#define SLOW_KEPT    20  /* units of a run */
#define FAILED_KEPT  100
#define TROUBLE_KEPT 400 /* letters */
#define UNITS_SHOWN  10

/* clang-format off */
#define TABLES_1 \
	"create table if not exists run (" \
	" run text primary key check (run ~ '^[0-9a-f]{64}$')," \
	" title text not null, owner text not null, units bigint not null, next bigint not null default 0," \
	" failed bigint not null default 0, lease_ms int not null," \
	" started timestamptz not null default now(), seen timestamptz not null default now()," \
	" finished timestamptz);" \
	"create table if not exists batch (" \
	" run text not null references run on delete cascade, first bigint not null, count int not null," \
	" key text not null, state smallint not null default 0, claims int not null default 0," \
	" worker text, ticket bigint, lease timestamptz, began timestamptz, segment text," \
	" primary key (run, first));" \
	"drop index if exists batch_open;" \
	"create index if not exists batch_waits on batch (first) where state = 0;" \
	"create index if not exists batch_leased on batch (lease) where state = 1;" \
	"create index if not exists batch_ticket on batch (worker, ticket) where state = 1;" \
	"create index if not exists batch_ended on batch (run, first) where state >= 2;" \
	"create table if not exists worker (" \
	" worker text primary key, machine text not null, jobs int not null," \
	" units bigint not null default 0, failed bigint not null default 0, rate real not null default 0," \
	" started timestamptz not null default now(), seen timestamptz not null default now());"

/* 2: units by name: the slowest, as workers tell them, and those that failed, as the owner does (why).
 * Functions whose arguments or results are others now have to go first. */
#define TABLES_2 \
	"create table if not exists unit (" \
	" run text not null references run on delete cascade, unit bigint not null, name text not null," \
	" ms int not null default 0, worker text not null default '', why text not null default ''," \
	" primary key (run, unit));" \
	"create index if not exists unit_slow on unit (run, ms);" \
	"alter table batch add column if not exists took_ms int not null default 0;" \
	"drop function if exists commit_batch(text, text, int, bigint, bigint, text, bigint, int," \
	" text, text);" \
	"do $$ begin if (select max(number) from version) < 2 then" \
	" drop function if exists done(text, bigint, bigint, bigint, int); end if; end $$;"

/* 3: since when and how many units: the rate is over at least a second. */
#define TABLES_3 \
	"alter table worker add column if not exists marked timestamptz not null default now();" \
	"alter table worker add column if not exists marked_units bigint not null default 0;"

/* 4: what keeps a worker from its work, such as a store that is full; '' when it has done something again. */
#define TABLES_4 \
	"alter table worker add column if not exists trouble text not null default '';"

#define HELLO_FUNCTION \
	"create or replace function hello() returns int language sql" OURS \
	"select max(number) from version $$;"

/* Where an owner is told that a batch was committed: a name has at most 63 letters. */
#define CHANNEL \
	"create or replace function run_channel(r text) returns text language sql immutable as" \
	" $$ select 'mortise_farm_' || left(r, 40) $$;"

/* The session's lock ends with the session. Returns '' or who has it. A run that had ended begins anew. */
#define OWN \
	"create or replace function own(r text, t text, o text, u bigint, ms int) returns" \
	" text language plpgsql" OURS \
	"begin" \
	" if not pg_try_advisory_lock(hashtextextended('mortise_farm/' || r, 0)) then" \
	"  return coalesce((select owner from run where run.run = r), 'another one');" \
	" end if;" \
	" delete from unit where unit.run = r and exists (select 1 from run where run.run = r and" \
	"  finished is not null);" \
	" insert into run (run, title, owner, units, lease_ms) values (r, t, o, u, ms)" \
	" on conflict (run) do update set title = t, owner = o, units = u, lease_ms = ms, seen = now()," \
	"  finished = null;" \
	" execute 'listen ' || run_channel(r);" \
	" return '';" \
	"end $$;"

/* Batches that cross these, or have another key: an owner came back with another --batch, or has learned
 * something else. Nobody waits for them. */
#define SUBMIT \
	"create or replace function submit(r text, f bigint[], c int[], k text[], again" \
	" boolean) returns void" \
	" language sql" OURS \
	"delete from batch b using unnest(f, c) as x(f, c) where b.run = r and b.first < x.f + x.c" \
	" and b.first + b.count > x.f and b.first <> x.f;" \
	"insert into batch (run, first, count, key) select r, x.f, x.c, x.k from unnest(f," \
	" c, k) as x(f, c, k)" \
	" on conflict (run, first) do update set count = excluded.count, key = excluded.key, state = 0," \
	"  claims = 0, worker = null, ticket = null, lease = null, segment = null" \
	" where again or batch.key <> excluded.key $$;"

/* The rate is that of its work: time without a batch does not count, and the last rate stays. */
#define RATE_DUE "u > old.marked_units and now() - old.marked > interval '1 second'"
#define NOTE_WORKER \
	"create or replace function note_worker(w text, m text, j int, u bigint, x bigint)" \
	" returns void language plpgsql" OURS \
	"begin" \
	" insert into worker as old (worker, machine, jobs, units, failed) values (w, m, j, u, x)" \
	" on conflict (worker) do update set jobs = j, units = u, failed = x, seen = now()," \
	"  rate = case when " RATE_DUE " then (u - old.marked_units) / extract(epoch from now() - old.marked)" \
	"   else old.rate end," \
	"  marked_units = case when " RATE_DUE " then u else old.marked_units end," \
	"  marked = case when " RATE_DUE " or (u = old.marked_units and not exists (select 1 from batch b" \
	"   where b.state = 1 and b.worker = w)) then now() else old.marked end;" \
	"end $$;"

/* What it had it has given back. */
#define LEAVE \
	"create or replace function leave(w text) returns boolean language plpgsql" OURS \
	"begin" \
	" delete from worker where worker = w;" \
	" return found;" \
	"end $$;"

/* A claim that is repeated gets the batch that it has. Lost leases come first: they are what an owner waits
 * for. Each of the two has its index: a scan over everything that is leased would cost more than the rest. */
#define CLAIM \
	"create or replace function claim(w text, m text, j int, u bigint, x bigint, t" \
	" bigint, refused text[])" \
	" returns table (run text, first bigint, count int, key text, lease_ms int) language plpgsql" OURS \
	"#variable_conflict use_column\n" \
	"declare b batch;" \
	"begin" \
	" perform note_worker(w, m, j, u, x);" \
	" select * into b from batch where state = 1 and worker = w and ticket = t;" \
	" while b.run is null loop" \
	"  select * into b from batch where state = 1 and lease < now() and run <> all (refused)" \
	"   order by lease limit 1 for update skip locked;" \
	"  if b.run is null then" \
	"   select * into b from batch where state = 0 and run <> all (refused)" \
	"    order by first limit 1 for update skip locked;" \
	"  end if;" \
	"  exit when b.run is null;" \
	"  if b.claims >= " QUOTE(MOR_FARM_CLAIMS) " then" \
	"   update batch set state = 3, lease = null where run = b.run and first = b.first;" \
	"   b := null;" \
	"  else" \
	"   update batch set state = 1, worker = w, ticket = t, claims = claims + 1, began = now()," \
	"    lease = now() + (select run.lease_ms from run where run.run = b.run) * interval '1 ms'" \
	"    where run = b.run and first = b.first;" \
	"  end if;" \
	" end loop;" \
	" return query select b.run, b.first, b.count, b.key, run.lease_ms from run where run.run = b.run;" \
	"end $$;"

#define BEAT \
	"create or replace function beat(w text, m text, j int, u bigint, x bigint, r text," \
	" f bigint, ms int)" \
	" returns boolean language plpgsql" OURS \
	"begin" \
	" perform note_worker(w, m, j, u, x);" \
	" if ms > 0 then" \
	"  update batch set lease = now() + ms * interval '1 ms'" \
	"   where run = r and first = f and state = 1 and worker = w;" \
	" else" \
	"  update batch set state = 0, claims = claims - 1, worker = null, ticket = null, lease = null" \
	"   where run = r and first = f and state = 1 and worker = w;" \
	" end if;" \
	" return found;" \
	"end $$;"

/* The slowest units of a run; one that is not among them costs one look. */
#define NOTE_SLOW \
	"create or replace function note_slow(r text, w text, n bigint, name text, ms int) returns void" \
	" language plpgsql" OURS \
	"#variable_conflict use_variable\n" \
	"declare least int;" \
	"begin" \
	" select s.ms into least from unit s where s.run = r order by s.ms desc" \
	"  offset " QUOTE(SLOW_KEPT) " - 1 limit 1;" \
	" if ms <= coalesce(least, 0) then return; end if;" \
	" insert into unit as old (run, unit, name, ms, worker)" \
	"  values (r, n, left(name, " QUOTE(NAME_KEPT) "), ms, w)" \
	"  on conflict (run, unit) do update set ms = excluded.ms, worker = w;" \
	" delete from unit s where s.run = r and s.ms <= least and s.why = '';" \
	"end $$;"

/* The owner hears of it at once, and once: the worker says the same every few seconds. */
#define TROUBLE \
	"create or replace function trouble(w text, r text, t text) returns boolean language plpgsql" OURS \
	"begin" \
	" t := left(t, " QUOTE(TROUBLE_KEPT) ");" \
	" update worker set trouble = t where worker = w and trouble <> t;" \
	" if found then perform pg_notify(run_channel(r), left(w, 80) || ': ' || t); end if;" \
	" return found;" \
	"end $$;"

/* The first wins, even if another worker has the lease by now. */
#define COMMIT \
	"create or replace function commit_batch(w text, m text, j int, u bigint, x bigint," \
	" r text, f bigint, c int," \
	" k text, s text, took int, n bigint, name text, ms int) returns boolean language plpgsql" OURS \
	"begin" \
	" perform note_worker(w, m, j, u, x);" \
	" update worker set trouble = '' where worker = w and trouble <> '';" \
	" if s !~ '^[0-9a-f]{64}$' then return false; end if;" \
	" update batch set state = 2, segment = s, worker = w, lease = null, took_ms = took" \
	"  where run = r and first = f and count = c and key = k and state <> 2;" \
	" if not found then return false; end if;" \
	" perform note_slow(r, w, n, name, ms);" \
	" perform pg_notify(run_channel(r), '');" \
	" return true;" \
	"end $$;"

#define DONE \
	"create or replace function done(r text, n bigint, f bigint, x bigint, most int)" \
	" returns table (first bigint, count int, key text, state smallint, claims int, segment text," \
	"  took_ms int)" \
	" language plpgsql" OURS \
	"#variable_conflict use_column\n" \
	"begin" \
	" update run set next = n, failed = x, seen = now() where run.run = r;" \
	" if not found then raise exception 'the run is gone' using errcode = '23503'; end if;" \
	" delete from batch where run = r and first < n and first + count <= n;" \
	" return query select b.first, b.count, b.key, b.state, b.claims," \
	" coalesce(b.segment, ''), b.took_ms from batch b" \
	"  where b.run = r and b.state >= 2 and b.first + b.count > f order by b.first limit most;" \
	"end $$;"

/* x: all units that failed so far; u, n, y: some of them by name. */
#define FAILED \
	"create or replace function failed(r text, x bigint, u bigint[], n text[], y text[]) returns text" \
	" language sql" OURS \
	"update run set failed = x where run.run = r;" \
	"insert into unit as old (run, unit, name, why) select r, f.u, left(f.n, " QUOTE(NAME_KEPT) ")," \
	" left(f.y, " QUOTE(NAME_KEPT) ") from unnest(u, n, y) as f(u, n, y)" \
	" where (select count(*) from unit s where s.run = r and s.why <> '') < " QUOTE(FAILED_KEPT) \
	" on conflict (run, unit) do update set why = excluded.why;" \
	"select ''::text $$;"

/* Somebody holds the lock of the run. */
#define HAS_OWNER \
	"create or replace function has_owner(r text) returns boolean language sql" OURS \
	"select exists (select 1 from pg_locks l where l.locktype = 'advisory' and l.objsubid = 1" \
	" and l.database = (select oid from pg_database where datname = current_database())" \
	" and (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended('mortise_farm/' || r, 0)) $$;"

#define FINISH \
	"create or replace function finish(r text) returns text language sql" OURS \
	"delete from batch where run = r;" \
	"update run set finished = now(), next = units where run.run = r;" \
	"select ''::text $$;"

/* n above 0, for owners: who was seen in these seconds, and which runs are worked on. Else everything, for
 * people: that may be long. They count units from 1. */
#define STATUS \
	"create or replace function status(n bigint) returns text language sql" OURS \
	"select case when n > 0 then (with w as (select exists (select 1 from batch b where b.state = 1" \
	"  and b.worker = worker.worker) as busy from worker where seen > now() - n * interval '1 second')" \
	" select json_build_object('idle', count(*) filter (where not busy)," \
	"  'busy', count(*) filter (where busy), 'leased', coalesce((select json_agg(r.run) from (select" \
	"  distinct b.run from batch b where b.state = 1 limit 20) r), '[]'))::text from w) else" \
	" json_build_object(" \
	" 'version', (select max(number) from version)," \
	" 'runs', coalesce((select json_agg(json_build_object('run', r.run, 'title'," \
	" r.title, 'owner', r.owner," \
	"  'units', r.units, 'next', r.next, 'failed', r.failed," \
	"  'state', case when r.finished is not null then 'finished'" \
	"   when has_owner(r.run) then 'runs' else 'no owner' end," \
	"  'age_s', extract(epoch from now() - r.started)::int," \
	"  'seen_s', extract(epoch from now() - coalesce(r.finished, r.seen))::int," \
	"  'waiting', (select count(*) from batch b where b.run = r.run and state = 0)," \
	"  'leased', (select count(*) from batch b where b.run = r.run and state = 1)," \
	"  'ready', (select count(*) from batch b where b.run = r.run and state = 2)," \
	"  'poisoned', (select count(*) from batch b where b.run = r.run and state = 3))" \
	" order by r.started)" \
	"  from run r), '[]')," \
	" 'workers', coalesce((select json_agg(json_build_object('worker', w.worker, 'machine', w.machine," \
	"  'jobs', w.jobs, 'busy', (select count(*) from batch b where b.state = 1 and" \
	" b.worker = w.worker)," \
	"  'units', w.units, 'failed', w.failed, 'rate', round(w.rate::numeric, 2), 'trouble', w.trouble," \
	"  'seen_s', extract(epoch from now() - w.seen)::int) order by w.machine, w.worker)" \
	" from worker w), '[]')," \
	" 'slowest', coalesce((select json_agg(s) from (select b.run, b.first + 1 as first," \
	"  b.count, b.worker, b.claims," \
	"  extract(epoch from now() - b.began)::int as seconds from batch b where b.state = 1" \
	"  order by b.began limit 5) s), '[]')," \
	" 'slow_units', coalesce((select json_agg(s) from (select u.run, u.unit + 1 as unit, u.name," \
	"  round(u.ms / 1000.0, 1) as seconds, u.worker from unit u where u.ms > 0" \
	"  order by u.ms desc limit " QUOTE(UNITS_SHOWN) ") s), '[]')," \
	" 'failed_units', coalesce((select json_agg(s) from (select u.run, u.unit + 1 as unit, u.name, u.why" \
	"  from unit u join run r using (run) where u.why <> ''" \
	"  order by r.started desc, u.unit limit " QUOTE(UNITS_SHOWN) ") s), '[]'))::text end $$;"

#define RETRY \
	"create or replace function retry(n bigint) returns text language sql" OURS \
	"with x as (update batch set state = 0, claims = 0, worker = null, ticket = null, lease = null" \
	" where state in (1, 3) returning 1) select json_build_object('batches', count(*))::text from x $$;"

/* A run that an owner has in its hands is never forgotten. One without an owner may be gone on with: it counts
 * as used until its owner was seen for the last time. */
#define GC \
	"create or replace function gc(days bigint) returns text language sql" OURS \
	"with r as (delete from run where coalesce(finished, seen) < now() - days * interval '1 day'" \
	"  and not has_owner(run.run) returning 1)," \
	" w as (delete from worker where seen < now() - days * interval '1 day' returning 1)" \
	" select json_build_object('runs', (select count(*) from r), 'workers'," \
	" (select count(*) from w))::text $$;"

/* Roles belong to the whole server: another database may have made them. Who may not make roles, or grant
 * them, can use the farm alone. */
#define ROLES \
	"do $$ declare name text; begin" \
	" foreach name in array array['mortise_farm_worker', 'mortise_farm_owner'] loop" \
	"  if not exists (select 1 from pg_roles where rolname = name) then" \
	"   execute 'create role ' || name || ' nologin';" \
	"  end if;" \
	" end loop; end $$;" \
	"revoke all on schema mortise_farm from public;" \
	"revoke all on all tables in schema mortise_farm from public;" \
	"revoke all on all functions in schema mortise_farm from public;" \
	"grant usage on schema mortise_farm to mortise_farm_worker, mortise_farm_owner;" \
	"grant execute on function hello to mortise_farm_worker, mortise_farm_owner;" \
	"grant execute on function claim, beat, trouble, commit_batch, leave to mortise_farm_worker," \
	" mortise_farm_owner;" \
	"grant execute on function own, submit, done, failed, finish, status, retry, gc to mortise_farm_owner;"

const char *const mor_farm_schema =
	"begin;"
	"set local client_min_messages = warning;"
	"select pg_advisory_xact_lock(hashtextextended('mortise_farm', 0));"
	"create schema if not exists mortise_farm;"
	"set local search_path = mortise_farm;"
	"create table if not exists version (number int not null);"
	"do $$ begin if (select max(number) from version) > " QUOTE(MOR_FARM_SCHEMA) " then"
	" raise exception 'the schema of this farm is newer than this mortise: upgrade mortise'"
	" using errcode = 'MF001'; end if; end $$;"
	TABLES_1 TABLES_2 TABLES_3 TABLES_4
	"delete from version; insert into version values (" QUOTE(MOR_FARM_SCHEMA) ");"
	HELLO_FUNCTION CHANNEL OWN SUBMIT NOTE_WORKER LEAVE CLAIM BEAT NOTE_SLOW TROUBLE COMMIT DONE FAILED
	HAS_OWNER FINISH STATUS RETRY GC ROLES
	"commit;";
/* clang-format on */
