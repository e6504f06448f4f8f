create table webhooks (
  id uuid primary key,
  workspace_id uuid not null,
  url text not null,
  events text[] not null,
  identity_ids uuid[],
  description text,
  status text not null,
  disabled_reason text,
  created_position bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz
);
create index on webhooks (workspace_id, created_at desc, id) where deleted_at is null;
