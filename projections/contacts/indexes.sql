create index on contacts (workspace_id, last_seen_at desc, id);
create index on contacts (workspace_id, domain, last_seen_at desc, id);
create index on contacts (workspace_id, status, last_seen_at desc, id) where status <> 'unknown';
create index on contact_words (workspace_id);
do $$
declare
  trigrams text := (select extnamespace::regnamespace::text from pg_extension where extname = 'pg_trgm');
begin
  if trigrams is not null then
    execute format('create index on contact_words using gin (words %s.gin_trgm_ops)', trigrams);
  end if;
end $$;
