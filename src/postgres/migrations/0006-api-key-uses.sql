-- When each API key was last used, to the minute. Operational: no event, and no loss when it is gone.
create table work.api_key_uses (
  api_key_id uuid primary key,
  last_used_at timestamptz not null
);

grant select, insert, update on work.api_key_uses to :service;
