-- Salt keys and signed heads of the audit trees. They cannot be rebuilt from the log.

-- The key of the salted digests of each tree (a workspace's, or the nil UUID). If it is lost, a rebuilt tree has another root.
create table work.audit_salts (
  tree_id uuid primary key,
  key bytea not null default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
);

-- The newest signed head of each tree. `contradicted_at`: since then its tree has another root at this size, and nothing is signed.
create table work.audit_heads (
  tree_id uuid primary key,
  epoch int not null,
  size bigint not null,
  root bytea not null,
  position bigint not null,
  checkpoint text not null,
  signed_at timestamptz not null,
  contradicted_at timestamptz
);

-- Every signed head, with the public key (a verifier key of signed-note) that its signature needs. `announced_at`: when webhooks were told
-- of it; null for heads that a newer one followed within the hour.
create table work.audit_signed_heads (
  tree_id uuid not null,
  epoch int not null,
  size bigint not null,
  checkpoint text not null,
  verifier_key text not null,
  signed_at timestamptz not null,
  announced_at timestamptz,
  primary key (tree_id, epoch, size)
);
create index on work.audit_signed_heads (signed_at);
create index on work.audit_signed_heads (tree_id, announced_at) where announced_at is not null;

-- The public keys that have signed heads.
create table work.audit_keys (
  verifier_key text primary key,
  since timestamptz not null
);

grant select, insert on work.audit_salts, work.audit_keys to :service;
grant select, insert, update, delete on work.audit_heads to :service;
grant select, insert, update on work.audit_signed_heads to :service;
