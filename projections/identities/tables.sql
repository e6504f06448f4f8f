create table identities (
  id uuid primary key,
  workspace_id uuid not null,
  domain_id uuid not null,
  assistant_id uuid,
  local_part text not null,
  email_address text not null,
  display_name text not null,
  reply_to_email text,
  signature_text text,
  signature_html text,
  html_removed json,
  thread_history_depth int not null,
  status text not null,
  approval_channel json,
  secondary_approval_channel json,
  escalation_delay_minutes int,
  can_send_cold boolean not null,
  auto_approve_replies boolean not null,
  require_human_approval boolean not null,
  send_on_channel_approval boolean not null,
  covered_recipients json not null,
  confirm_code boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz
);
create index on identities (workspace_id, created_at desc, id);
create index on identities (email_address) where deleted_at is null;
