create table feed_events (
  workspace_id uuid not null,
  -- Position of its log event, and its index among that event's published ones: the content of a cursor.
  position bigint not null,
  part smallint not null,
  -- Without gaps, from 1.
  sequence bigint not null,
  id uuid not null,
  type text not null,
  created_at timestamptz not null,
  subject uuid not null,
  identity_id uuid,
  data json not null,
  primary key (workspace_id, position, part)
);
-- Facts that events of drafts, threads and domains do not contain themselves.
create table feed_subjects (
  id uuid primary key,
  workspace_id uuid not null,
  thread_id uuid,
  identity_id uuid,
  message_id uuid,
  domain_name text
);
