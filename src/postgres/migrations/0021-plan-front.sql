-- Nearly always the log is planned for all processes alike. Then one row moves with each plan in place of one a process: `planned` null
-- means "up to the front". A process that is new or was left behind has a position of its own until it has caught up.
create table work.front (
  one boolean primary key default true check (one),
  position bigint not null
);
insert into work.front (position) values (0);
grant select, update on work.front to :service;

alter table work.processes alter column planned drop not null;

-- How far the log is planned for each process.
create view work.planned with (security_invoker = true) as
  select name, coalesce(processes.planned, front.position) as planned from work.processes, work.front;
grant select on work.planned to :service;
