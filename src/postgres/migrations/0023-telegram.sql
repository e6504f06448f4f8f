-- Which identities' approvers are asked by which Telegram bot: made from the log by a process. A bot that nobody uses any more stays until its
-- webhook is taken away.
create table work.telegram_bots (
  bot_id text primary key,
  -- What Telegram was told last: "polling", or a hash of the webhook's address and secret; null: nothing yet.
  registered text,
  -- The first update that is not dealt with, where updates are fetched.
  next_update bigint
);
create table work.telegram_bot_uses (
  identity_id uuid not null,
  slot text not null,
  bot_id text not null references work.telegram_bots,
  workspace_id uuid not null,
  -- As the identity's event has it.
  sealed_token text not null,
  -- The identity does not use it any more; its token may be what takes the webhook away.
  ended boolean not null default false,
  primary key (identity_id, slot, bot_id)
);
create index on work.telegram_bot_uses (bot_id);

-- Messages of ours that ask somebody for the reason of a rejection. The token of the question is sealed for its workspace.
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
