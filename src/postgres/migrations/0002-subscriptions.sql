grant usage on schema work to :service;

-- Read models. Their tables are made by the projection runner, as the owner.
create schema read;
grant usage on schema read to :service;

-- How far each read model has got. Moved in the transaction that writes its rows, and only from where the writer believes it stands.
create table work.checkpoints (
  name text primary key,
  version integer not null,
  position bigint not null,
  tables text[] not null default '{}',
  updated_at timestamptz not null default now()
);
grant select, insert, update on work.checkpoints to :service;

-- Who works: one holder at a time. `epoch` rises with every change of hands; `position` is how far a process has handled the log.
create table work.leases (
  name text primary key,
  holder text not null,
  epoch bigint not null,
  expires_at timestamptz not null,
  position bigint not null default 0
);
grant select, insert, update on work.leases to :service;

-- `revision` is new with every setting: a timer that was set again while it was handled is still due.
create table work.timers (
  process text not null,
  key text not null,
  name text not null,
  due_at timestamptz not null,
  payload json not null,
  revision uuid not null default gen_random_uuid(),
  primary key (process, key, name)
);
create index on work.timers (process, due_at);
grant select, insert, update, delete on work.timers to :service;

-- Events and timers given up on. An event is named by its position, a timer by its key and name.
create table work.parked (
  id bigint generated always as identity primary key,
  process text not null,
  key text not null,
  position bigint,
  timer text,
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
