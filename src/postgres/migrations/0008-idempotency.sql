-- POSTs under an Idempotency-Key: who runs one now, and the first answer once there is one. Times are this server's.
create table work.idempotency_keys (
  workspace_id uuid not null,
  key text not null,
  -- Of method, path, If-Match and body: the same key may not mean something else.
  request_hash bytea not null,
  api_key_id uuid not null,
  -- The ids of what is made derive from it, and the events carry it: the same for every repetition.
  operation uuid not null,
  -- An earlier run under this operation came to no answer.
  repeated boolean not null default false,
  -- Of the run that may record the answer; another may begin after owned_until.
  owner uuid not null,
  owned_until timestamptz not null,
  expires_at timestamptz not null,
  status integer,
  headers json,
  answer bytea,
  -- The answer holds a secret, and opens only to the API key that asked.
  sealed boolean not null default false,
  primary key (workspace_id, key)
);
create index on work.idempotency_keys (expires_at);

grant select, insert, update, delete on work.idempotency_keys to :service;
