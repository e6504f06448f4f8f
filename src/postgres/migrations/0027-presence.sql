-- Who has which draft open at this moment. It is written every few seconds, and after a crash nobody misses it.
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
