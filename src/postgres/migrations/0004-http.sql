-- Which instances of the API run, and how far each has come with revoked keys (streams/README.md, invariant 7). Times are this server's.

create table work.instances (
  id uuid primary key,
  seen_at timestamptz not null
);

create table work.revocations (
  id bigint generated always as identity primary key,
  key_id text not null,
  revoked_at timestamptz not null default clock_timestamp()
);

-- An instance acknowledges when nothing runs there any more under the key.
create table work.revocation_acks (
  revocation_id bigint not null references work.revocations on delete cascade,
  instance_id uuid not null,
  primary key (revocation_id, instance_id)
);

grant select, insert, update, delete on work.instances to :service;
grant select, insert, delete on work.revocations, work.revocation_acks to :service;
