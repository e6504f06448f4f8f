create table workspaces (
  id uuid primary key,
  workspace_id uuid not null generated always as (id) stored,
  name text not null,
  slug text not null,
  plan text not null,
  plan_status text not null,
  beta_override boolean not null,
  sending_paused boolean not null,
  sending_paused_reason text,
  sending_paused_by json,
  sending_paused_at timestamptz,
  require_human_approval boolean not null,
  require_named_approvers boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
