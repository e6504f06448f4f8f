-- The work of processes, shared by all instances (src/runtime/work/README.md).

-- Position up to which the log is planned for the processes in step: nearly always all of them, so that a plan updates one row.
create table work.front (
  one boolean primary key default true check (one),
  position bigint not null
);
insert into work.front (position) values (0);
grant select, update on work.front to :service;

-- `planned` null: the process is in step with the front. A new process, or one that is behind, has its own position until it has caught up.
create table work.processes (
  name text primary key,
  planned bigint
);
grant select, insert, update on work.processes to :service;

-- Position up to which the log is planned for each process.
create view work.planned with (security_invoker = true) as
  select name, coalesce(processes.planned, front.position) as planned from work.processes, work.front;
grant select on work.planned to :service;

-- A lane is everything that one process has to do under one key. An instance claims lanes, and works on the items of one in order.
create table work.lanes (
  process text not null,
  key text not null,
  workspace text not null,
  state text not null check (state in ('ready', 'claimed', 'waiting')),
  -- Start-time fair queueing: among ready lanes the lowest turn is claimed first.
  turn bigint not null default 0,
  -- Time since which a ready lane has waited to be claimed.
  ready_at timestamptz not null default clock_timestamp(),
  -- For a waiting lane: when it becomes ready by time alone.
  due_at timestamptz not null default '-infinity',
  -- For a lane waiting after a failure: until then no event makes it ready either.
  retry_at timestamptz,
  -- For a lane set aside: streams of which one has to change before it can continue.
  obstacles text[],
  -- Raised by every wake-up, so that one during setting aside is noticed.
  generation bigint not null default 1,
  -- New for every claim: an ending under an earlier claim is refused.
  claim uuid,
  holder text,
  claimed_until timestamptz,
  primary key (process, key)
);
create index on work.lanes (process, turn) where state = 'ready';
create index on work.lanes (due_at) where state = 'waiting';
create index on work.lanes (claimed_until) where state = 'claimed';
grant select, insert, update, delete on work.lanes to :service;

-- Maintained by a trigger, because many statements make lanes ready.
create function work.note_ready() returns trigger language plpgsql as $$
begin
  new.ready_at := clock_timestamp();
  return new;
end $$;

create trigger becomes_ready before update of state on work.lanes
  for each row when (new.state = 'ready' and old.state <> 'ready') execute function work.note_ready();

-- Events are named by their position in the log, timers by their names.
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
  -- Failures that are not the infrastructure's: after five the item is parked.
  failures integer not null default 0,
  -- Runs that exceeded their time: after ten the item is parked. Outages, which are transient, are retried without being counted.
  timeouts integer not null default 0,
  -- Row of work.parked that this item retries.
  parked bigint,
  check ((position is null) <> (timer is null))
);
create unique index on work.items (process, position) where position is not null;
create unique index on work.items (process, key, timer) where timer is not null and parked is null;
create unique index on work.items (parked) where parked is not null;
create index on work.items (process, key);
grant select, insert, update, delete on work.items to :service;

-- Items that were given up on, for the operator to list and retry.
create table work.parked (
  id bigint generated always as identity primary key,
  process text not null,
  key text not null,
  position bigint,
  timer text,
  -- The event or timer as it was then.
  item json not null,
  error text not null,
  tries integer not null,
  parked_at timestamptz not null,
  retry_requested_at timestamptz,
  check ((position is null) <> (timer is null))
);
create unique index on work.parked (process, position) where position is not null;
create unique index on work.parked (process, key, timer) where timer is not null;
create index on work.parked (process, id) where retry_requested_at is not null;
grant select, insert, update, delete on work.parked to :service;

-- Streams under which lanes are set aside, each with the revision of its newest planned event that may have ended the obstacle.
create table work.tags (
  stream text primary key,
  revision bigint not null,
  -- Lanes that were set aside before this place are to be woken. Null: all of them are.
  wake_before bigint,
  -- Time when a page of the lanes set aside under the stream is retried, in case no event has signalled that they can continue.
  try_at timestamptz
);
create index on work.tags (wake_before) where wake_before is not null;
create index on work.tags (try_at) where try_at is not null;
grant select, insert, update on work.tags to :service;

-- Order in which lanes are set aside and obstacles end. Numbers are drawn under the lock of the stream's row in work.tags.
create sequence work.places;
grant usage on work.places to :service;

-- Lanes that are set aside, under each of their obstacles.
create table work.set_aside (
  stream text not null,
  place bigint not null default nextval('work.places'),
  process text not null,
  key text not null,
  primary key (stream, place)
);
create index on work.set_aside (process, key);
grant select, insert, delete on work.set_aside to :service;

-- Maintained by a trigger on the table of lanes, because many statements wake lanes.
create function work.note_obstacles() returns trigger language plpgsql as $$
begin
  delete from work.set_aside where process = new.process and key = new.key;
  insert into work.set_aside (stream, process, key) select stream, new.process, new.key from unnest(new.obstacles) as stream;
  return null;
end $$;

create trigger changes_obstacles after update of obstacles on work.lanes
  for each row when (new.obstacles is distinct from old.obstacles) execute function work.note_obstacles();

-- Fairness: the last turn given to each workspace in each process, and under '*' the last one that was claimed. Unlogged: a crash of the
-- server makes all equal again.
create unlogged table work.turns (
  process text not null,
  workspace text not null,
  turn bigint not null,
  primary key (process, workspace)
);
grant select, insert, update, delete on work.turns to :service;

-- Rules, webhooks and identities that listen in a workspace, by their streams, at the planner's position (src/runtime/work/listeners.ts).
-- No work is planned for processes that serve them in a workspace without any.
create table work.listeners (
  stream text primary key,
  workspace text not null
);
grant select, insert, delete on work.listeners to :service;
