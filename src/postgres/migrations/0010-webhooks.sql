-- What webhooks are told, one row for each event and webhook. Made from the log; what was tried is known here alone.
create table work.webhook_deliveries (
  id uuid primary key,
  webhook_id uuid not null,
  workspace_id uuid not null,
  event_id uuid not null,
  event_type text not null,
  -- In order within each webhook and subject, by the event's place in the log.
  subject uuid not null,
  position bigint not null,
  part smallint not null,
  body text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed', 'canceled')),
  attempts integer not null default 0,
  tries jsonb not null default '[]',
  -- Of a try that has not ended.
  started_at timestamptz,
  error text,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz
);
create index on work.webhook_deliveries (webhook_id, subject, position, part, id) where status = 'pending';
create index on work.webhook_deliveries (webhook_id, created_at desc, id);
create index on work.webhook_deliveries (ended_at) where ended_at is not null;

-- One row for each webhook and subject that something waits for: whoever takes it works alone until it is due again.
create table work.webhook_queues (
  webhook_id uuid not null,
  subject uuid not null,
  due_at timestamptz not null,
  lease uuid,
  primary key (webhook_id, subject)
);
create index on work.webhook_queues (due_at);

grant select, insert, update, delete on work.webhook_deliveries, work.webhook_queues to :service;
