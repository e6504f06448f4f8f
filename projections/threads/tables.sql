create table threads (
  id uuid primary key,
  workspace_id uuid not null,
  identity_id uuid not null,
  primary_contact_id uuid,
  subject text not null,
  status text not null,
  priority text not null,
  needs_review boolean not null,
  last_message_at timestamptz,
  message_count int not null,
  participants json not null,
  contacts text not null,
  opened_by text,
  listed boolean not null,
  merged_into uuid,
  shown boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index on threads (workspace_id, last_message_at desc nulls last, id) where merged_into is null and shown and listed;
create index on threads (identity_id, last_message_at desc nulls last, id) where merged_into is null and shown and listed;
create index on threads (merged_into) where merged_into is not null;
