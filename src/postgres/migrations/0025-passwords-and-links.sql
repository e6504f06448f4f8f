-- Passwords of users, as Argon2id hashes that name their own parameters.
create table work.passwords (
  user_id uuid primary key,
  hash text not null,
  set_at timestamptz not null
);

-- Links that were mailed. Of the token in one only the hash is kept. What is over stays for a while, so that it can be said why it is over.
create table work.links (
  token_sha256 bytea primary key,
  kind text not null,
  -- What only the newest link of its kind is good for.
  subject text not null,
  about jsonb not null,
  address text not null,
  expires_at timestamptz not null,
  -- Somebody is using it since; for a minute nobody else does.
  begun_at timestamptz,
  used_at timestamptz,
  -- A newer one was asked for, or it was withdrawn.
  replaced_at timestamptz
);
create index on work.links (kind, subject);
create index on work.links (expires_at);

grant select, insert, update, delete on work.passwords, work.links to :service;
