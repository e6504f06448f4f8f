create table chain_ids (
  identity_id uuid not null,
  rfc_message_id text not null,
  thread_id uuid not null,
  -- Set if a mail of ours was sent under this id: its attempt.
  attempt_id uuid,
  -- Set if a mail named this id before it was known to be our mail's: the thread that our mail was sent on.
  sent_on uuid,
  primary key (identity_id, rfc_message_id)
);
create table chain_messages (
  identity_id uuid not null,
  rfc_message_id text not null,
  content_digest text not null,
  message_id uuid not null,
  -- By Message-ID first: several identities may have received one mail.
  primary key (rfc_message_id, identity_id, content_digest)
);
-- Threads that took part in merges, and the present group of each.
create table chain_merged (
  thread_id uuid primary key,
  group_id uuid not null
);
create index on chain_merged (group_id);
create table chain_groups (
  group_id uuid primary key,
  survivor_id uuid not null,
  members int not null
);
create table chain_threads (
  thread_id uuid primary key,
  opened_number int not null
);
create table chain_progress (
  identity_id uuid primary key,
  revision int not null
);
