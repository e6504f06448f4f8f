-- Full-text search over the read models message_words, search_words (projections/search) and contact_words (projections/contacts).

-- Finds parts of words by an index. Without the extension they are found by scanning the workspace's vocabulary.
do $$ begin
  create extension if not exists pg_trgm with schema work;
exception when others then
  raise notice 'pg_trgm is not to be had: %', sqlerrm;
end $$;

-- A part of a word matches many words. As one tsquery of alternatives, each candidate row would be compared with all of them; searched one
-- by one, each is a look-up. So whole words and phrases go into one tsquery, and each part is a separate set of messages.

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

-- Returns the threads of the connection's workspace with a message that matches every term. A term is {words: [{word, match}]}, a phrase of
-- its words in this order. Text search operators are not leakproof and would lose their index under a policy: so the function runs as the
-- owner, who may read every row of these tables, and restricts itself to the workspace. A sequential scan never pays: the vectors are
-- stored outside the rows.
create function work.threads_with(class text, terms json) returns setof uuid
language plpgsql stable security definer
set search_path = read, pg_temp set plan_cache_mode = force_custom_plan set enable_seqscan = off as $$
declare
  workspace uuid := nullif(nullif(current_setting('countersign.workspace', true), ''), '*')::uuid;
  term json;
  phrase tsquery;
  question tsquery;
  parts text[];
  messages uuid[];
begin
  for term in select value from json_array_elements(terms) loop
    if json_array_length(term -> 'words') = 1 and term #>> '{words,0,match}' <> 'whole' then continue; end if;
    phrase := work.phrase_of(class, term -> 'words');
    if phrase is null then return; end if;
    question := case when question is null then phrase else question && phrase end;
  end loop;

  for term in select value -> 'words' -> 0 from json_array_elements(terms)
    where json_array_length(value -> 'words') = 1 and value #>> '{words,0,match}' <> 'whole'
  loop
    parts := array(select work.words_with(class, term ->> 'word', term ->> 'match'));
    if json_array_length(terms) = 1 then
      return query
        select distinct m.thread_id from unnest(parts) part cross join lateral (
          select found.thread_id from message_words found
          where found.workspace_id = workspace and found.words @@ quote_literal(part)::tsquery
        ) m;
      return;
    end if;
    messages := array(
      select distinct m.id from unnest(parts) part cross join lateral (
        select found.id from message_words found
        where found.workspace_id = workspace and found.words @@ quote_literal(part)::tsquery
      ) m
      where messages is null or m.id = any (messages)
    );
  end loop;

  return query
    select distinct m.thread_id from message_words m
    where m.workspace_id = workspace
      and (question is null or m.words @@ question) and (messages is null or m.id = any (messages));
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

revoke all on function work.words_with, work.phrase_of, work.threads_with, work.contacts_with, work.count_contacts_with from public;
grant execute on function work.threads_with, work.contacts_with, work.count_contacts_with to :service;
