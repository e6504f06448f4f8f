create table assistants (
  id uuid primary key,
  workspace_id uuid not null,
  name text not null,
  description text,
  status text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz
);
create index on assistants (workspace_id, created_at desc, id) where deleted_at is null;
