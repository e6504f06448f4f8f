-- Row level security behind the WHERE clauses of the read models: a connection sees the rows of the workspace it carries in the setting
-- countersign.workspace, none where it carries none, and all where that is '*' (projectors and the operator).

-- Puts a table that has a workspace_id under the policy; leaves any other alone. For the owner's role too, where one role does everything.
create function work.isolate(target regclass) returns void language plpgsql as $$
declare
  type text := (
    select format_type(atttypid, null) from pg_attribute
    where attrelid = target and attname = 'workspace_id' and not attisdropped
  );
begin
  if type is null then return; end if;
  execute format('alter table %s enable row level security', target);
  execute format('alter table %s force row level security', target);
  execute format('drop policy if exists own_workspace on %s', target);
  -- Sub-selects, so that the setting is read once a statement and not once a row.
  execute format(
    $policy$create policy own_workspace on %s using (
      (select current_setting('countersign.workspace', true) = '*')
      or workspace_id = (
        select nullif(nullif(current_setting('countersign.workspace', true), ''), '*')::%s
      )
    )$policy$, target, type);
end $$;

select work.isolate(format('read.%I', tablename)::regclass) from pg_tables where schemaname = 'read';

-- What has to be found before it is known whose it is. Nothing else looks across workspaces on behalf of a request. The setting is put back
-- by hand: only a superuser may hang one of our own on a function.

create function work.api_key_by_hash(key_hash text)
returns table (id uuid, workspace_id uuid, name text, prefix text, scopes json, created_at timestamptz)
language plpgsql security definer set search_path = read, pg_temp as $$
declare
  carried text := coalesce(current_setting('countersign.workspace', true), '');
begin
  perform set_config('countersign.workspace', '*', true);
  return query select k.id, k.workspace_id, k.name, k.prefix, k.scopes, k.created_at
    from api_keys k where k.hash = key_hash and k.revoked_at is null;
  perform set_config('countersign.workspace', carried, true);
end $$;

create function work.identities_by_address(addresses text[])
returns table (id uuid, workspace_id uuid, email_address text)
language plpgsql security definer set search_path = read, pg_temp as $$
declare
  carried text := coalesce(current_setting('countersign.workspace', true), '');
begin
  perform set_config('countersign.workspace', '*', true);
  return query select i.id, i.workspace_id, i.email_address
    from identities i where i.email_address = any(addresses) and i.deleted_at is null;
  perform set_config('countersign.workspace', carried, true);
end $$;

create function work.draft_of_token(sha256 text) returns table (draft_id uuid, workspace_id uuid)
language plpgsql security definer set search_path = read, pg_temp as $$
declare
  carried text := coalesce(current_setting('countersign.workspace', true), '');
begin
  perform set_config('countersign.workspace', '*', true);
  return query select t.draft_id, t.workspace_id from approval_tokens t where t.token_sha256 = sha256;
  perform set_config('countersign.workspace', carried, true);
end $$;

revoke all on function work.isolate, work.api_key_by_hash, work.identities_by_address, work.draft_of_token from public;
grant execute on function work.api_key_by_hash, work.identities_by_address, work.draft_of_token to :service;
