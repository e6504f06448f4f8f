create table contacts (
  id uuid primary key,
  workspace_id uuid not null,
  email text not null,
  name text,
  domain text not null,
  status text not null,
  tags json not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create table contact_counts (
  workspace_id uuid not null,
  status text not null,
  count int not null,
  primary key (workspace_id, status)
);

create table contact_tags (
  workspace_id uuid not null,
  tag text not null,
  contact_id uuid not null,
  primary key (workspace_id, tag, contact_id)
);
create index on contact_tags (contact_id);

create table contact_tag_counts (
  workspace_id uuid not null,
  tag text not null,
  count int not null,
  primary key (workspace_id, tag)
);

-- Name and address, folded (search/words.ts), in which parts are searched.
create table contact_words (
  id uuid primary key,
  workspace_id uuid not null,
  words text not null
);
-- For work.contacts_with, which runs as the owner.
create policy owner_searches on contact_words for select to current_user using (true);
