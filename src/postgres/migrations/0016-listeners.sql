-- What listens in a workspace: its rules and webhooks, by their streams, as of what the planner has read (src/work/listeners.ts). Nothing is
-- planned for processes that serve them where there are none.
create table work.listeners (
  stream text primary key,
  workspace text not null
);
grant select, insert, delete on work.listeners to :service;
