-- Outgoing traffic: mail, webhooks, messages of Telegram bots.

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
grant select, insert, delete on work.outbox to :service;

-- Notification mail of the last hour, counted over all instances by mailbox and by workspace. Older rows do not count; the service removes
-- them as it writes.
create table work.service_mail (
  attempt_id text primary key,
  -- notices or approvals
  measure text not null,
  mailbox_sha256 text not null,
  workspace_id text not null,
  at timestamptz not null
);
create index service_mail_of_mailbox on work.service_mail (measure, mailbox_sha256, at desc);
create index service_mail_of_workspace on work.service_mail (measure, workspace_id, at desc);
create index service_mail_at on work.service_mail (at);
grant select, insert, update, delete on work.service_mail to :service;

-- Webhook deliveries, one row for each event and webhook. Made from the log; only the attempts are recorded here. Each webhook and subject
-- has a lane of the process deliverWebhooks.
create table work.webhook_deliveries (
  id uuid primary key,
  webhook_id uuid not null,
  workspace_id uuid not null,
  event_id uuid not null,
  event_type text not null,
  -- Deliveries of one webhook and subject are made in the order of (position, part).
  subject uuid not null,
  position bigint not null,
  part smallint not null,
  body text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed', 'canceled')),
  attempts integer not null default 0,
  tries jsonb not null default '[]',
  -- Start of an attempt that has not ended.
  started_at timestamptz,
  -- Earliest time of the next attempt while pending.
  next_attempt_at timestamptz not null default clock_timestamp(),
  error text,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz
);
create index on work.webhook_deliveries (webhook_id, subject, position, part, id) where status = 'pending';
create index on work.webhook_deliveries (webhook_id, created_at desc, id);
create index on work.webhook_deliveries (ended_at) where ended_at is not null;

grant select, insert, update, delete on work.webhook_deliveries to :service;

-- Telegram bots of approval channels: made from the log by a process. A bot without a use stays until its webhook is removed.
create table work.telegram_bots (
  bot_id text primary key,
  -- Last registration of the bot with Telegram: "polling", or a hash of the webhook's address and secret; null: none yet.
  registered text,
  -- Id of the first unhandled update, if updates are fetched.
  next_update bigint
);

-- Identities whose approvers are asked by a bot.
create table work.telegram_bot_uses (
  identity_id uuid not null,
  -- Slot of the approval channel: primary or secondary.
  slot text not null,
  bot_id text not null references work.telegram_bots,
  workspace_id uuid not null,
  -- Sealed bot token, as in the identity's event.
  sealed_token text not null,
  -- The identity has stopped using the bot; its token may still be needed to remove the webhook.
  ended boolean not null default false,
  primary key (identity_id, slot, bot_id)
);
create index on work.telegram_bot_uses (bot_id);

-- Our messages that ask an approver for the reason of a rejection. The token of the question is sealed for its workspace.
create table work.telegram_prompts (
  bot_id text not null,
  chat_id text not null,
  message_id text not null,
  user_id text not null,
  workspace_id uuid not null,
  sealed_token text not null,
  made_at timestamptz not null default now(),
  primary key (bot_id, chat_id, message_id)
);
create index on work.telegram_prompts (made_at);
grant select, insert, update, delete on work.telegram_bots, work.telegram_bot_uses, work.telegram_prompts to :service;
