create table threads (
  id uuid primary key,
  workspace_id uuid not null,
  identity_id uuid not null,
  primary_contact_id uuid,
  subject text not null,
  status text not null,
  priority text not null,
  -- Rank of the priority; the most urgent has the highest.
  urgency smallint not null generated always as (array_position(array['low', 'normal', 'high', 'urgent'], priority)) stored,
  needs_review boolean not null,
  last_message_at timestamptz,
  -- Sort key of lists: a thread without a message is last.
  sorted_at timestamptz not null generated always as (coalesce(last_message_at, '-infinity')) stored,
  message_count int not null,
  participants json not null,
  opened_by text,
  listed boolean not null,
  merged_into uuid,
  shown boolean not null,
  in_lists boolean not null generated always as (merged_into is null and shown and listed) stored,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index on threads (merged_into) where merged_into is not null;

create table thread_counts (
  workspace_id uuid not null,
  identity_id uuid not null,
  status text not null,
  needs_review boolean not null,
  priority text not null,
  count int not null,
  primary key (workspace_id, identity_id, status, needs_review, priority)
);

-- Only threads with a message.
create table thread_days (
  workspace_id uuid not null,
  -- Day of the last message, in UTC: days since 1970-01-01.
  day int not null,
  identity_id uuid not null,
  status text not null,
  needs_review boolean not null,
  priority text not null,
  count int not null,
  primary key (workspace_id, day, identity_id, status, needs_review, priority)
);
