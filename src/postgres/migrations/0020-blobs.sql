-- When somebody last stored these bytes: what no event names and nobody stored for a day is removed by `npm run blobs -- sweep`,
-- as the owner. The service can still neither change the bytes nor delete them.
alter table work.blobs add column touched_at timestamptz not null default now();
grant update (touched_at) on work.blobs to :service;
