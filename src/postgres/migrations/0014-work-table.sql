-- What processes have to do, shared by all instances (src/work/). A lane is everything of one process under one key; who claims it works
-- on its items in order. It takes the place of leases for each process and of timers of their own.

-- How far the log is planned for each process.
create table work.processes (
  name text primary key,
  planned bigint not null
);
grant select, insert, update on work.processes to :service;

-- Fairness: the last turn given to each workspace in each process, and under '*' the last one that was claimed. Only a memory: losing it
-- makes all equal again.
create unlogged table work.turns (
  process text not null,
  workspace text not null,
  turn bigint not null,
  primary key (process, workspace)
);
grant select, insert, update, delete on work.turns to :service;

create table work.lanes (
  process text not null,
  key text not null,
  workspace text not null,
  state text not null check (state in ('ready', 'claimed', 'waiting')),
  turn bigint not null default 0,
  -- Waiting: when it is ready again by time alone.
  due_at timestamptz not null default '-infinity',
  -- Waiting after a failure: until then no event makes it ready either.
  retry_at timestamptz,
  -- Set aside: streams whose next event makes it ready again.
  obstacles text[],
  -- Rises with every wake-up, so that one that comes while the lane is set aside is noticed.
  generation bigint not null default 1,
  -- New with every claim: what a former holder says is refused.
  claim uuid,
  holder text,
  claimed_until timestamptz,
  primary key (process, key)
);
create index on work.lanes (process, turn) where state = 'ready';
create index on work.lanes (due_at) where state = 'waiting';
create index on work.lanes (claimed_until) where state = 'claimed';
create index on work.lanes using gin (obstacles) where obstacles is not null;
grant select, insert, update, delete on work.lanes to :service;

-- Events are named by their place in the log, timers by their names. `parked`: another try of what was given up on.
create table work.items (
  id bigint generated always as identity primary key,
  process text not null,
  key text not null,
  position bigint,
  stream text,
  revision bigint,
  timer text,
  payload json,
  due_at timestamptz not null,
  tries integer not null default 0,
  failures integer not null default 0,
  parked bigint,
  check ((position is null) <> (timer is null))
);
create unique index on work.items (process, position) where position is not null;
create unique index on work.items (process, key, timer) where timer is not null and parked is null;
create unique index on work.items (parked) where parked is not null;
create index on work.items (process, key);
grant select, insert, update, delete on work.items to :service;

-- The newest event that was planned of each stream whose events end obstacles.
create table work.tags (
  stream text primary key,
  revision bigint not null
);
grant select, insert, update on work.tags to :service;

-- Taken over from leases for each process. A lease that nobody can take keeps instances of before from going on.
insert into work.processes (name, planned) select substr(name, 9), position from work.leases where name like 'process:%';
update work.leases set holder = 'the work table', expires_at = 'infinity', epoch = epoch + 1 where name like 'process:%';
insert into work.items (process, key, timer, payload, due_at) select process, key, name, payload, due_at from work.timers;
insert into work.lanes (process, key, workspace, state, due_at)
  select process, key, coalesce(min(payload ->> 'workspaceId'), ''), 'waiting', min(due_at) from work.timers group by process, key;
drop table work.timers;

-- What was several processes is one, keyed by draft as they were (src/processes/deliver.ts): it looks at the streams, whatever wakes it.
update work.items set process = 'deliver' where process in ('deliverDraft', 'finishSends', 'concludeSettled', 'recoverClaims');
update work.parked set process = 'deliver' where process in ('deliverDraft', 'finishSends', 'concludeSettled', 'recoverClaims');
insert into work.lanes (process, key, workspace, state, due_at)
  select 'deliver', key, max(workspace), 'waiting', min(due_at) from work.lanes
  where process in ('deliverDraft', 'finishSends', 'concludeSettled', 'recoverClaims') group by key;
delete from work.lanes where process in ('deliverDraft', 'finishSends', 'concludeSettled', 'recoverClaims');
