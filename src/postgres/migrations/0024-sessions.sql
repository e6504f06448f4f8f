-- People who are signed in. Of the token in the browser's cookie only the hash is kept.
create table work.sessions (
  -- Changes with every change of the person's rights.
  id uuid primary key,
  token_sha256 bytea not null unique,
  -- The one before, known for some seconds: requests that were under way bring it.
  earlier_sha256 bytea unique,
  replaced_at timestamptz,
  -- The token is to be replaced at the next request.
  due boolean not null default false,
  user_id uuid not null,
  workspace_id uuid,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  password_at timestamptz not null,
  agent text
);
create index on work.sessions (user_id);

grant select, insert, update, delete on work.sessions to :service;
