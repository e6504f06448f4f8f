-- What long streams came to, so that they are not read from their start: a cache, one row a stream. Removing rows costs time and nothing else.
create table work.snapshots (
  stream text collate "C" primary key,
  -- A hash of the sources of the stream's rules: a state that other rules made is of no use.
  rules text collate "C" not null,
  -- Of the stream's event at this revision. If the log has another one there, it is not the log that this was made from.
  revision integer not null,
  event_id uuid not null,
  -- json, not jsonb: what is read is what was written, a NUL included.
  state json not null,
  made_at timestamptz not null default now()
);

grant select, insert, update, delete on work.snapshots to :service;
