-- Large things by content hash. Never changed, never deleted: events name them for ever.
create table work.blobs (
  sha256 bytea primary key check (octet_length(sha256) = 32),
  bytes bytea not null,
  size integer not null generated always as (octet_length(bytes)) stored,
  created_at timestamptz not null default now()
);

-- Mail and pictures hardly shrink, and base64 of megabytes costs more to squeeze than to store.
alter table work.blobs alter column bytes set storage external;

grant usage on schema work to :service;
grant select, insert on work.blobs to :service;
