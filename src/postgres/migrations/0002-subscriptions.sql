create table work.checkpoints (
  name text primary key,
  version int not null,
  position bigint not null,
  updated_at timestamptz not null default now()
);
create table work.leases (
  name text primary key,
  holder text not null,
  epoch bigint not null,
  expires_at timestamptz not null
);
create table work.timers (
  process text not null,
  key text not null,
  name text not null,
  due_at timestamptz not null,
  payload jsonb not null,
  -- Rises each time the timer is set: one that was set again while it was being handled stays.
  set_count bigint not null default 1,
  primary key (process, key, name)
);
create index on work.timers (process, due_at);
create table work.parked (
  id bigint generated always as identity primary key,
  process text not null,
  key text not null,
  position bigint,
  subject jsonb not null,
  error text not null,
  tries int not null,
  parked_at timestamptz not null default now(),
  retry_requested boolean not null default false
);
create index on work.parked (process, id);
create schema read;
grant usage on schema work, read to :service;
grant select, insert, update, delete on work.checkpoints, work.leases, work.timers, work.parked to :service;
