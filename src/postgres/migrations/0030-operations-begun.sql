-- When the first run under a key began: what a repetition looks for in a stream is not older. Null of those that were under way before.
alter table work.idempotency_keys add column begun_at timestamptz;
