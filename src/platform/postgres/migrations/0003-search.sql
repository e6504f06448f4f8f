-- Full-text search over the read models message_words, search_words, edited_names (projections/search) and contact_words
-- (projections/contacts).

-- Finds parts of words by an index. Without the extension they are found by scanning the workspace's vocabulary.
do $$ begin
  create extension if not exists pg_trgm with schema work;
exception when others then
  raise notice 'pg_trgm is not to be had: %', sqlerrm;
end $$;

-- Makes the index by which parts of the words of a column are found, if there is the extension.
create function work.index_parts(target regclass, words name) returns void language plpgsql as $$
declare
  trigrams text := (select extnamespace::regnamespace::text from pg_extension where extname = 'pg_trgm');
begin
  if trigrams is not null then
    execute format('create index on %s using gin (%I %s.gin_trgm_ops)', target, words, trigrams);
  end if;
end $$;

-- A part of a word stands for every word of the vocabulary that contains it. A search compares messages with such alternatives in one of
-- two ways (projections/search/queries.ts): thread by thread in the order of the list, with one tsquery, or by the index of words.

-- Returns the words of the vocabulary that match a part of a word: the shortest two hundred. `class` is the prefix of the words: nothing,
-- or @ for senders.
create function work.words_with(class text, part text, match text) returns setof text
language plpgsql stable set search_path = read, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  workspace uuid := nullif(nullif(current_setting('countersign.workspace', true), ''), '*')::uuid;
  pattern text := class || case when match in ('part', 'suffix') then '%' else '' end || part
    || case when match in ('part', 'prefix') then '%' else '' end;
begin
  return query select v.word from search_words v
    where v.workspace_id = workspace and v.word like pattern and starts_with(v.word, '@') = (class = '@')
    order by length(v.word), v.word limit 200;
end $$;

-- Returns a phrase as a tsquery; null if one of its words matches no word of the vocabulary.
create function work.phrase_of(class text, words json) returns tsquery
language sql stable as $$
  select case when bool_and(w.alternatives is not null)
    then string_agg('(' || w.alternatives || ')', ' <-> ' order by w.place)::tsquery end
  from (
    select one.ordinality as place, case when one.value ->> 'match' = 'whole'
      then quote_literal(class || (one.value ->> 'word'))
      else (
        select string_agg(quote_literal(found), '|')
        from work.words_with(class, one.value ->> 'word', one.value ->> 'match') found
      ) end as alternatives
    from json_array_elements(words) with ordinality one
  ) w
$$;

-- Returns what a message must have to match every term, as one tsquery; null if no message can. A term is {words: [{word, match}]}, a
-- phrase of its words in this order. Runs as the owner, who may read the vocabulary by its index of parts.
create function work.words_query(class text, terms json) returns tsquery
language plpgsql stable security definer set search_path = read, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  term json;
  phrase tsquery;
  question tsquery;
begin
  for term in select value from json_array_elements(terms) loop
    phrase := work.phrase_of(class, term -> 'words');
    if phrase is null then return null; end if;
    question := case when question is null then phrase else question && phrase end;
  end loop;
  return question;
end $$;

-- Returns the threads of the connection's workspace with a message that matches every term, found by the index of words: each alternative
-- is one look-up, and PostgreSQL combines their bitmaps. As one tsquery of alternatives, each candidate would be compared with all of them.
-- With `most`: returns one row for each message, at most `most` rows, so a thread may occur several times.
-- Text search operators are not leakproof and would lose their index under a policy: so the function runs as the owner, who may read every
-- row of these tables, and restricts itself to the workspace. Sequential and plain index scans are switched off: bitmap scans are always
-- cheaper here.
create function work.threads_with(class text, terms json, most int default null) returns setof uuid
language plpgsql stable security definer
set search_path = read, pg_temp set plan_cache_mode = force_custom_plan set enable_seqscan = off set enable_indexscan = off
set work_mem = '32MB' as $$
declare
  workspace uuid := nullif(nullif(current_setting('countersign.workspace', true), ''), '*')::uuid;
  conditions text[] := array[format('workspace_id = %L', workspace)];
  term json;
  alternatives text;
begin
  for term in select value from json_array_elements(terms) loop
    if json_array_length(term -> 'words') = 1 and term #>> '{words,0,match}' <> 'whole' then
      alternatives := (
        select string_agg(format('words @@ %L::tsquery', quote_literal(word)), ' or ')
        from work.words_with(class, term #>> '{words,0,word}', term #>> '{words,0,match}') word
      );
    else
      alternatives := format('words @@ %L::tsquery', work.phrase_of(class, term -> 'words'));
    end if;
    if alternatives is null then return; end if;
    conditions := conditions || format('(%s)', alternatives);
  end loop;
  return query execute format('select %s thread_id from message_words where %s limit %L',
    case when most is null then 'distinct' end, array_to_string(conditions, ' and '), most);
end $$;

-- Returns the contacts of the connection's workspace whose edited name and address together match every pattern, and whose name alone
-- matches at least one. The index is asked for the first pattern. Runs as the owner, like work.threads_with.
create function work.contacts_by_edited_name(patterns text[], most int) returns setof uuid
language plpgsql stable security definer set search_path = read, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  workspace uuid := nullif(nullif(current_setting('countersign.workspace', true), ''), '*')::uuid;
begin
  return query select n.contact_id from edited_names n
    where n.workspace_id = workspace and n.words like patterns[1] and n.words like all (patterns) and n.name like any (patterns)
    limit most;
end $$;

-- Returns the contacts of the connection's workspace whose folded name and address match, at most `most`. `like` is not leakproof either:
-- the function runs as the owner, like work.threads_with.
create function work.contacts_with(pattern text, most int) returns setof uuid
language plpgsql stable security definer set search_path = read, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  workspace uuid := nullif(nullif(current_setting('countersign.workspace', true), ''), '*')::uuid;
begin
  return query select w.id from contact_words w where w.workspace_id = workspace and w.words like pattern limit most;
end $$;

-- Returns the number of all matching contacts.
create function work.count_contacts_with(pattern text) returns int
language plpgsql stable security definer set search_path = read, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  workspace uuid := nullif(nullif(current_setting('countersign.workspace', true), ''), '*')::uuid;
begin
  return (select count(*) from contact_words w where w.workspace_id = workspace and w.words like pattern);
end $$;

revoke all on function work.words_with, work.phrase_of, work.words_query, work.threads_with, work.contacts_by_edited_name,
  work.contacts_with, work.count_contacts_with from public;
grant execute on function work.words_query, work.threads_with, work.contacts_by_edited_name, work.contacts_with,
  work.count_contacts_with to :service;
