create table drafts (
  id uuid primary key,
  workspace_id uuid not null,
  thread_id uuid not null,
  identity_id uuid not null,
  kind text not null,
  based_on_message_id uuid,
  based_on_number int not null,
  message_id uuid not null,
  status text not null,
  version int not null,
  content_sha256 text not null,
  content json,
  content_blob text,
  html_removed json not null,
  text_derived boolean not null,
  rationale text,
  metadata json,
  stale_warning boolean not null,
  version_warnings text[] not null,
  auto_approved boolean,
  reason text,
  decided_by json,
  decided_at timestamptz,
  approvals_given json not null,
  approvals_required int,
  changes_requested json,
  assigned_to json,
  undo_until timestamptz,
  sent_at timestamptz,
  failure_code text,
  failure_message text,
  held_code text,
  notification_asked json,
  notification_state text not null,
  notification_channel text,
  notification_at timestamptz,
  notification_error text,
  pending_since timestamptz not null,
  version_pending_since timestamptz,
  escalated boolean not null,
  changed_position bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index on drafts (thread_id, created_at desc, id);
create table draft_counts (
  workspace_id uuid not null,
  identity_id uuid not null,
  status text not null,
  count int not null,
  primary key (workspace_id, identity_id, status)
);
create table draft_versions (
  id uuid primary key,
  draft_id uuid not null,
  workspace_id uuid not null,
  version int not null,
  content json,
  content_blob text,
  content_sha256 text not null,
  text_derived boolean not null,
  rationale text,
  edited_by json not null,
  changed_fields json not null,
  created_at timestamptz not null
);
create table approval_tokens (
  token_sha256 text primary key,
  draft_id uuid not null,
  workspace_id uuid not null
);
-- People of a draft: recipients, and who decided about it. `person`: an address, its domain, or a name from one of its words on, folded.
create table draft_people (
  workspace_id uuid not null,
  person text collate "C" not null,
  draft_id uuid not null,
  primary key (workspace_id, person, draft_id)
);
create table draft_thread_merges (
  absorbed_id uuid primary key,
  survivor_id uuid not null
);
-- The newest request about a draft at a mailbox. `open`: the draft is pending in this very version.
create table approval_requests (
  draft_id uuid not null,
  address text not null,
  workspace_id uuid not null,
  slot text not null,
  notification_id uuid not null,
  version int not null,
  bundled boolean not null,
  state text not null,
  tries int not null,
  since timestamptz not null,
  open boolean not null,
  primary key (draft_id, address)
);
create table approval_lists (
  list_sha256 text not null,
  draft_id uuid not null,
  workspace_id uuid not null,
  primary key (list_sha256, draft_id)
);
