create table inbound (
  id uuid primary key,
  workspace_id uuid not null,
  -- Null for mail to an address of no identity.
  identity_id uuid,
  received_at timestamptz not null,
  position bigint not null,
  inbox_revision int not null,
  filing_number int,
  -- Revision of the deciding event in the identity's filing stream.
  filing_revision int,
  filed_position bigint,
  envelope_from text not null,
  envelope_to text not null,
  disposition text not null,
  message_id uuid,
  reason text,
  rfc_message_id text not null,
  raw_sha256 text not null,
  size_bytes int not null,
  -- Thread of its message, or for a repeated delivery that of the existing message; and the position of the event that assigned it.
  thread_id uuid,
  thread_since bigint,
  -- True if a mail was sent on its thread, or the thread was closed, after it arrived there.
  answered boolean not null default false,
  -- Days after which its content was removed.
  expired_after_days int,
  -- Kind of a mail that is nobody's word, or hand_over; kept if a person files it as a message.
  put_aside text,
  -- Of a reaction: its sign and its sender.
  reaction json,
  -- The person or key that filed it as a message, and when.
  filed_by json
);
create index on inbound (thread_id) where not answered;
create index on inbound (message_id) where put_aside is not null;
create table inbound_counts (
  workspace_id uuid not null,
  -- Zeros for mail to an address of no identity.
  identity_id uuid not null,
  disposition text not null,
  count int not null,
  primary key (workspace_id, identity_id, disposition)
);
