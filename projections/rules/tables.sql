create table rules (
  id uuid primary key,
  workspace_id uuid not null,
  version int not null,
  name text not null,
  trigger_event text not null,
  conditions json not null,
  actions json not null,
  status text not null,
  priority int not null,
  stop_after_match boolean not null,
  identity_id uuid,
  assistant_id uuid,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz
);
create index on rules (workspace_id, priority, id) where deleted_at is null;
