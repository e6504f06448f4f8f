-- How often a handler has not ended in its time: what passes by itself is tried again for as long as it takes, this is not.
alter table work.items add column timeouts integer not null default 0;

-- Of the lanes that are set aside under a stream, one is tried now and then, in case nobody was told that they can go on: when the next
-- one is tried, and the one that is being tried.
alter table work.tags add column try_at timestamptz, add column tried_process text, add column tried_key text;
create index on work.tags (try_at) where try_at is not null;
