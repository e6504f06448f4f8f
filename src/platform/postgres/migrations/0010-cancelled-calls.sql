-- Calls of MCP clients that were cancelled through another instance than the one that runs them, as hashes. Unlogged: a loss in a crash
-- does no harm, since the calls end with it. The service removes old rows as it writes.
create unlogged table work.cancelled_calls (
  call text primary key,
  cancelled_at timestamptz not null default clock_timestamp()
);
create index on work.cancelled_calls (cancelled_at);
grant select, insert, update, delete on work.cancelled_calls to :service;
