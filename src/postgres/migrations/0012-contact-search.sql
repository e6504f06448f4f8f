-- Contacts of the connection's workspace whose folded name and address match, at most so many. `like` is not leakproof and would lose its index under a
-- policy: so the function is the owner's, as work.threads_with is.
create function work.contacts_with(pattern text, most int) returns setof uuid
language plpgsql stable security definer set search_path = read, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  workspace uuid := nullif(nullif(current_setting('countersign.workspace', true), ''), '*')::uuid;
begin
  return query select w.id from contact_words w where w.workspace_id = workspace and w.words like pattern limit most;
end $$;

-- How many they are.
create function work.count_contacts_with(pattern text) returns int
language plpgsql stable security definer set search_path = read, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  workspace uuid := nullif(nullif(current_setting('countersign.workspace', true), ''), '*')::uuid;
begin
  return (select count(*) from contact_words w where w.workspace_id = workspace and w.words like pattern);
end $$;

revoke all on function work.contacts_with, work.count_contacts_with from public;
grant execute on function work.contacts_with, work.count_contacts_with to :service;
