-- Full-text search over the read models message_words and search_words (projections/search).

-- Finds parts of words by an index. Without it they are found by looking through the workspace's vocabulary.
do $$ begin
  create extension if not exists pg_trgm with schema work;
exception when others then
  raise notice 'pg_trgm is not to be had: %', sqlerrm;
end $$;

-- The words of the vocabulary that one word of a question stands for, as a tsquery: the word itself where it is to match whole. Of very
-- many words that hold a part, the shortest two hundred count. `class` is what the lexemes begin with: nothing, or @ for senders.
create function work.search_word(class text, word text, match text) returns text
language plpgsql stable set search_path = read, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  workspace uuid := nullif(nullif(current_setting('countersign.workspace', true), ''), '*')::uuid;
  pattern text := class || case when match in ('part', 'suffix') then '%' else '' end || word
    || case when match in ('part', 'prefix') then '%' else '' end;
begin
  if match = 'whole' then return quote_literal(class || word); end if;
  return (
    select string_agg(quote_literal(w.word), '|') from (
      select v.word from search_words v
      where v.workspace_id = workspace and v.word like pattern and starts_with(v.word, '@') = (class = '@')
      order by length(v.word), v.word limit 200
    ) w
  );
end $$;

-- The threads of the connection's workspace with a message that meets every term. A term is {words: [{word, match}]}, its words side by
-- side in this order. Text search operators are not leakproof and would lose their index under a policy: so the function is the owner's,
-- whom the policy of these tables lets see all, and holds on to the workspace itself.
create function work.threads_with(class text, terms json) returns setof uuid
language plpgsql stable security definer set search_path = read, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  workspace uuid := nullif(nullif(current_setting('countersign.workspace', true), ''), '*')::uuid;
  term json;
  phrase text;
  question tsquery;
begin
  for term in select value from json_array_elements(terms) loop
    select case when bool_and(w.words is not null) then string_agg('(' || w.words || ')', ' <-> ' order by w.place) end
    into phrase
    from (
      select work.search_word(class, one.value ->> 'word', one.value ->> 'match') as words, one.ordinality as place
      from json_array_elements(term -> 'words') with ordinality one
    ) w;
    if phrase is null then return; end if;
    question := case when question is null then phrase::tsquery else question && phrase::tsquery end;
  end loop;
  return query select distinct m.thread_id from message_words m where m.workspace_id = workspace and m.words @@ question;
end $$;

revoke all on function work.search_word, work.threads_with from public;
grant execute on function work.threads_with to :service;
