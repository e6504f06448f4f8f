-- Content stored besides the log.

-- Large things by content hash. Their bytes are never changed, because events name them for ever; a blob that no event names, and that was
-- not stored again for a day, is deleted by `npm run blobs -- sweep`, as the owner. The service can neither change bytes nor delete.
create table work.blobs (
  sha256 bytea primary key check (octet_length(sha256) = 32),
  bytes bytea not null,
  size integer not null generated always as (octet_length(bytes)) stored,
  created_at timestamptz not null default now(),
  -- Time when these bytes were last stored.
  touched_at timestamptz not null default now()
);
-- Mail and pictures hardly shrink, and base64 of megabytes costs more to compress than to store.
alter table work.blobs alter column bytes set storage external;
grant select, insert, update (touched_at) on work.blobs to :service;

-- States of long streams, so that these are not folded from their start: a cache, one row a stream. Removing rows costs time and nothing else.
create table work.snapshots (
  stream text collate "C" primary key,
  -- Hash of the sources of the stream's rules: a state that other rules made is of no use.
  rules text collate "C" not null,
  -- The stream's event at this revision. If the log has another one there, it is not the log that the state was folded from.
  revision integer not null,
  event_id uuid not null,
  -- json, not jsonb: a reader gets the text that was written, a NUL included.
  state json not null,
  made_at timestamptz not null default now()
);
grant select, insert, update, delete on work.snapshots to :service;
