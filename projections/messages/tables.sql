-- Each message is written a second time, when its sender is authenticated or its delivery is known: the free room keeps it on its page, so
-- that no index changes.
create table messages (
  id uuid primary key,
  workspace_id uuid not null,
  identity_id uuid not null,
  thread_id uuid not null,
  direction text not null,
  filing_number int,
  classification text,
  -- Whose mail it is; null for a mail of ours.
  kind text,
  sent_by uuid,
  from_email text not null,
  from_name text,
  to_emails json not null,
  cc_emails json not null,
  bcc_emails json not null,
  reply_to json not null,
  subject text not null,
  body_text text,
  body_html text,
  extracted_text text,
  body_blob text,
  content_blob text,
  rfc_message_id text,
  in_reply_to text,
  reference_ids json not null,
  received_at timestamptz,
  sent_at timestamptz,
  delivery_status text,
  -- Rank of the report that set the status; 0: none.
  delivery_rank smallint not null default 0,
  draft_id uuid,
  raw_sha256 text,
  attachments json not null,
  quarantined boolean not null,
  from_blocked_contact boolean not null,
  approval_links text,
  notes json not null,
  created_at timestamptz not null,
  -- Set by a separate event, after the mail.
  authentication json,
  from_workspace boolean not null default false,
  reactions json not null default '[]',
  -- What was reported of single recipients of a mail of ours, by address.
  recipients json not null default '{}',
  -- Location of an inbound mail in the log: on the thread that it was filed on.
  placed_on uuid,
  placed_at int
) with (fillfactor = 60);
create index on messages (thread_id, created_at, id);
create unique index on messages (draft_id) where draft_id is not null;
-- Held messages from people, not shown yet.
create table held_messages (
  id uuid primary key,
  workspace_id uuid not null,
  thread_id uuid not null,
  filing_number int not null,
  from_email text not null,
  from_name text,
  received_at timestamptz not null
);
create index on held_messages (thread_id, filing_number);
create table message_thread_merges (
  absorbed_id uuid primary key,
  survivor_id uuid not null
);
