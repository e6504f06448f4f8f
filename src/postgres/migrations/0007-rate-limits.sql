-- Requests counted per API key (or IP, or workspace) and class, in windows by this server's clock, for all instances. Unlogged: a crash
-- of the server forgets a minute's counts, and nothing else is written for them. Old rows are removed by the service as it goes.
create unlogged table work.rate_limits (
  key text primary key,
  hits integer not null,
  resets_at timestamptz not null
) with (fillfactor = 50);

grant select, insert, update, delete on work.rate_limits to :service;
