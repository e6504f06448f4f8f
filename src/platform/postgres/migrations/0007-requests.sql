-- Requests and the people and keys behind them. Times are this server's unless a table says otherwise.

-- Last use of each API key, to the minute. Losing it does no harm.
create table work.api_key_uses (
  api_key_id uuid primary key,
  last_used_at timestamptz not null
);
grant select, insert, update on work.api_key_uses to :service;

-- Running instances of the API, each of which must acknowledge a revoked key (streams/README.md, invariant 7).
create table work.instances (
  id uuid primary key,
  seen_at timestamptz not null
);

create table work.revocations (
  id bigint generated always as identity primary key,
  key_id text not null,
  revoked_at timestamptz not null default clock_timestamp()
);

-- Written by an instance when no request under the key runs there any more.
create table work.revocation_acks (
  revocation_id bigint not null references work.revocations on delete cascade,
  instance_id uuid not null,
  primary key (revocation_id, instance_id)
);
grant select, insert, update, delete on work.instances to :service;
grant select, insert, delete on work.revocations, work.revocation_acks to :service;

-- Requests counted per API key (or IP, or workspace) and class, in windows, for all instances. Unlogged: a crash of the server forgets a
-- minute's counts, and nothing else is written for them. The service removes old rows as it writes.
create unlogged table work.rate_limits (
  key text primary key,
  hits integer not null,
  resets_at timestamptz not null
) with (fillfactor = 50);
grant select, insert, update, delete on work.rate_limits to :service;

-- POSTs under an Idempotency-Key: which run owns the key, and the first answer once there is one.
create table work.idempotency_keys (
  workspace_id uuid not null,
  key text not null,
  -- Hash of method, path, If-Match and body: the same key may not mean something else.
  request_hash bytea not null,
  api_key_id uuid not null,
  -- Ids of what the request makes derive from it, and its events carry it: the same for every repetition.
  operation uuid not null,
  -- Begin of the first run under the key: a repetition does not search for the operation in earlier events.
  begun_at timestamptz not null,
  -- True if an earlier run under this operation gave no answer.
  repeated boolean not null default false,
  -- The run that may record the answer; another may begin after owned_until.
  owner uuid not null,
  owned_until timestamptz not null,
  expires_at timestamptz not null,
  status integer,
  headers json,
  answer bytea,
  -- True if the answer holds a secret: it opens only to the API key that asked.
  sealed boolean not null default false,
  -- Secret that the answer will hold (a new API key), drawn before anything is made with it and sealed under the API key that asked: a
  -- repetition gets the same one, and no other key can open it.
  secret bytea,
  primary key (workspace_id, key)
);
create index on work.idempotency_keys (expires_at);
grant select, insert, update, delete on work.idempotency_keys to :service;

-- Passwords of users, as Argon2id hashes that name their own parameters.
create table work.passwords (
  user_id uuid primary key,
  hash text not null,
  set_at timestamptz not null
);

-- Mailed links. Only the hash of a link's token is kept. A link that is over stays for a while, so that its page can say why it is over.
create table work.links (
  token_sha256 bytea primary key,
  kind text not null,
  -- Only the newest link of a kind and subject works.
  subject text not null,
  about jsonb not null,
  address text not null,
  expires_at timestamptz not null,
  -- Start of a use under way; for a minute no other use begins.
  begun_at timestamptz,
  used_at timestamptz,
  -- A newer link was asked for, or this one was withdrawn.
  replaced_at timestamptz
);
create index on work.links (kind, subject);
create index on work.links (expires_at);

-- Signed-in people. Only the hash of the token in the browser's cookie is kept.
create table work.sessions (
  -- Changes with every change of the person's rights.
  id uuid primary key,
  token_sha256 bytea not null unique,
  -- The token before, accepted for some seconds: requests that were under way carry it.
  earlier_sha256 bytea unique,
  replaced_at timestamptz,
  -- True if the next request gets a new token.
  due boolean not null default false,
  user_id uuid not null,
  workspace_id uuid,
  started_at timestamptz not null,
  seen_at timestamptz not null,
  -- Time when the password was last entered.
  password_at timestamptz not null,
  agent text
);
create index on work.sessions (user_id);
grant select, insert, update, delete on work.passwords, work.links, work.sessions to :service;

-- Users who have a draft open now. Written every few seconds; a loss in a crash does no harm.
create unlogged table work.presence (
  workspace_id uuid not null,
  draft_id uuid not null,
  user_id uuid not null,
  name text not null,
  seen_at timestamptz not null,
  primary key (draft_id, user_id)
);
create index on work.presence (seen_at);
grant select, insert, update, delete on work.presence to :service;
