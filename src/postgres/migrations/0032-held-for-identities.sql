-- Drafts that wait until their identity may send are set aside like those that wait for the end of a pause (src/processes/sendApproved.ts). Those that an
-- earlier release holds are looked at once, and set aside then: what is not meant to be sent by itself is left as it is. While an instance of that release
-- still runs, it may be the one that looks, and it sets nothing aside: an hour later they are looked at once more.
do $$
begin
  -- A database that is new has no read models yet, and nothing that is held.
  if to_regclass('read.drafts') is null then return; end if;
  perform set_config('countersign.workspace', '*', true);
  with held as (
    select id::text as key, workspace_id::text as workspace from read.drafts
    where status = 'approved' and held_code = 'identity_not_active'
  ),
  -- Lanes before their items, as everywhere.
  lanes as (
    insert into work.lanes as lane (process, key, workspace, state, due_at)
      select 'sendApproved', key, workspace, 'waiting', now() from held order by key
    on conflict (process, key) do update set generation = lane.generation + 1,
      due_at = case when lane.state = 'waiting' and lane.retry_at is null then least(lane.due_at, excluded.due_at) else lane.due_at end
    returning key, workspace
  )
  insert into work.items (process, key, timer, payload, due_at)
    select 'sendApproved', key, look.name, json_build_object('kind', 'auto', 'workspaceId', workspace), look.due_at
    from lanes, (values ('again', now()), ('once more', now() + interval '1 hour')) as look (name, due_at)
  on conflict (process, key, timer) where timer is not null and parked is null do nothing;
  perform set_config('countersign.workspace', '', true);
end $$;
