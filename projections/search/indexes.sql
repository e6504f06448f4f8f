create index on message_words using gin (words);

do $$
declare
  trigrams text := (select extnamespace::regnamespace::text from pg_extension where extname = 'pg_trgm');
begin
  if trigrams is not null then
    execute format('create index on search_words using gin (word %s.gin_trgm_ops)', trigrams);
  end if;
end $$;
