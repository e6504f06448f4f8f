-- Since when a lane that is ready has waited for a place at work. Kept by the table itself: many statements make lanes ready.
-- First with one time for all lanes that there are: so they are not written again, while instances of the release before wait for the table.
alter table work.lanes add column ready_at timestamptz not null default now();
alter table work.lanes alter column ready_at set default clock_timestamp();

create function work.note_ready() returns trigger language plpgsql as $$
begin
  new.ready_at := clock_timestamp();
  return new;
end $$;

create trigger becomes_ready before update of state on work.lanes
  for each row when (new.state = 'ready' and old.state <> 'ready') execute function work.note_ready();
