create table api_keys (
  id uuid primary key,
  workspace_id uuid not null,
  name text not null,
  prefix text not null,
  hash text not null unique,
  scopes json not null,
  created_at timestamptz not null,
  revoked_at timestamptz
);
create index on api_keys (workspace_id, created_at desc, id);
