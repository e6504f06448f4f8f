create table domains (
  id uuid primary key,
  workspace_id uuid not null,
  domain_name text not null,
  inbound_subdomain text,
  mail_domain text not null,
  verification_token text not null,
  sending_token text not null,
  dkim_selector text not null,
  dkim_public_key text not null,
  -- Registration at the mail provider that determines some values.
  registration json,
  status text not null,
  -- Per record: its status by the last answered check, and the result of the last check.
  records json not null,
  has_existing_mx boolean,
  recommended_subdomain text,
  dns_provider_hint text,
  verification_last_checked_at timestamptz,
  verification_attempts int,
  created_at timestamptz not null,
  verified_at timestamptz,
  deleted_at timestamptz
);
create index on domains (workspace_id, created_at desc, id) where deleted_at is null;
