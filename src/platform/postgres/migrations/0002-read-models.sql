-- Read models: their checkpoints, the leases of those who work for all instances, and row level security. The tables of the read models
-- (projections/*/tables.sql) are made in this schema by the projection runner, as the owner.
create schema read;
grant usage on schema read to :service;
grant usage on schema work to :service;

-- Positions of read models in the log: one row for the main group (`main`), one for each read model that is independent or was ejected from
-- the main group. Moved in the transaction that writes rows, and only from the position and generation the writer read.
create table work.checkpoints (
  name text primary key,
  position bigint not null,
  -- Raised when a read model enters or leaves, or gets other tables: a writer that does not know of it is refused.
  generation bigint not null default 1,
  updated_at timestamptz not null default now()
);
insert into work.checkpoints (name, position) values ('main', 0);
grant select, insert, update, delete on work.checkpoints to :service;

-- The tables that each read model has, and the checkpoint that they are at.
create table work.read_models (
  name text primary key,
  -- A model of another version is rebuilt.
  version integer not null,
  tables text[] not null,
  -- Position that a rebuild has reached, for people who wait.
  rebuilt_to bigint,
  checkpoint text not null references work.checkpoints (name),
  -- Rows with a time up to this one, included, were removed from the tables; null: none since the tables were filled from the log.
  pruned_until timestamptz
);
grant select, insert, update on work.read_models to :service;

-- Work that one instance at a time does. `epoch` rises with every change of the holder.
create table work.leases (
  name text primary key,
  holder text not null,
  epoch bigint not null,
  expires_at timestamptz not null
);
grant select, insert, update on work.leases to :service;

-- Row level security behind the WHERE clauses of the read models. A connection carries its workspace in the setting
-- countersign.workspace and sees that workspace's rows; without the setting it sees none; with '*' it sees all (projectors, the operator).

-- Puts a table with a workspace_id under the policy; leaves any other as it is. Applies to the owner too, for installations where one role
-- does everything.
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

-- One row under the policy, which a dump keeps or loses with all others. If it is missing, the read models are empty too (prepare.ts).
create table work.dump_probe (workspace_id uuid primary key);
insert into work.dump_probe values ('00000000-0000-0000-0000-000000000000');
select work.isolate('work.dump_probe');

-- Look-ups before the workspace is known. No other statement reads across workspaces on behalf of a request. Each restores the setting by
-- hand: only a superuser may attach a custom setting to a function.

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

-- True if a key with this hash was valid once and is revoked: requests with it get that answer every time.
create function work.is_revoked_key(key_hash text) returns boolean
language plpgsql security definer set search_path = read, pg_temp as $$
declare
  carried text := coalesce(current_setting('countersign.workspace', true), '');
  found_one boolean;
begin
  perform set_config('countersign.workspace', '*', true);
  found_one := exists (select 1 from api_keys k where k.hash = key_hash and k.revoked_at is not null);
  perform set_config('countersign.workspace', carried, true);
  return found_one;
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

-- Returns the workspaces of a person, who then chooses one.
create function work.workspaces_of_user(of_user uuid)
returns table (id uuid, name text, role text, member_id uuid)
language plpgsql security definer set search_path = read, pg_temp as $$
declare
  carried text := coalesce(current_setting('countersign.workspace', true), '');
begin
  perform set_config('countersign.workspace', '*', true);
  return query select w.id, w.name, m.role, m.id
    from members m join workspaces w on w.id = m.workspace_id
    where m.user_id = of_user and m.status = 'active';
  perform set_config('countersign.workspace', carried, true);
end $$;

revoke all on function work.isolate, work.api_key_by_hash, work.is_revoked_key, work.identities_by_address, work.draft_of_token,
  work.workspaces_of_user from public;
grant execute on function work.api_key_by_hash, work.is_revoked_key, work.identities_by_address, work.draft_of_token,
  work.workspaces_of_user to :service;
