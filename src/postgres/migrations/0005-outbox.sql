-- Mail caught instead of delivered. No unique constraint on the attempt: a mail handed over twice has to be seen twice.
create table work.outbox (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  attempt_id text not null,
  message_id text not null,
  envelope jsonb not null,
  mime bytea not null
);

create index outbox_attempt on work.outbox (attempt_id);

grant usage on schema work to :service;
grant select, insert on work.outbox to :service;
