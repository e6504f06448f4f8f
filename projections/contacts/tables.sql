create table contacts (
  id uuid primary key,
  workspace_id uuid not null,
  email text not null,
  name text,
  domain text not null,
  status text not null,
  tags text[] not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index on contacts (workspace_id, last_seen_at desc, id);
create index on contacts (workspace_id, domain, last_seen_at desc, id);
create index on contacts (workspace_id, status, last_seen_at desc, id) where status <> 'unknown';
create index on contacts using gin (tags) where tags <> '{}';
