-- The event log. Written by es.append alone; nothing in it is ever changed or removed.
create schema es;
revoke all on schema es from public;

create table es.events (
  -- One above the log's end, given out under the lock of es.append: in commit order, and nothing ever appears behind a reader's back.
  position bigint primary key,
  stream_id text collate "C" not null,
  revision integer not null,
  event_id uuid not null unique,
  type text collate "C" not null,
  schema_version smallint not null,
  -- json, not jsonb: what is read is what was written, a NUL included, and nothing is taken apart on the way in.
  data json not null,
  metadata json not null,
  -- Of data and metadata, so that a reader can bound what it takes without touching them.
  bytes integer not null,
  recorded_at timestamptz not null default clock_timestamp(),
  unique (stream_id, revision)
);

create function es.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'the event log is append-only: % refused', lower(tg_op) using errcode = 'insufficient_privilege';
end $$;

-- Holds for the owner too, where one role has to do everything.
create trigger append_only before update or delete or truncate on es.events
  for each statement execute function es.refuse_change();

-- Appends several requests, each to a stream of its own, in one transaction. A request is written whole where its stream stands at
-- the expected revision and the stream it is guarded by (if any) at the guard's; otherwise nothing of it is, and the others are not
-- touched by that. A request whose events already stand right behind the expected revision is answered as when they were written.
-- The caller sees to it that no stream in a call is both written and guarding, and none written twice.
--
-- request_ends: per request the number (from 1) of its last event; event_requests, event_places: per event its request and its
-- place in it (from 1). Answers a row per request, in order; appended_position is null where it was refused.
create function es.append(
  request_streams text[], expected_revisions bigint[], request_sizes integer[], request_ends integer[],
  guard_streams text[], guard_revisions bigint[],
  event_requests integer[], event_places integer[], event_ids uuid[], event_types text[],
  event_schema_versions smallint[], event_data text[], event_metadata text[]
) returns table (appended_position bigint, actual_revision bigint, actual_guard_revision bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  log_end bigint;
  tails bigint[];
  guard_tails bigint[];
  granted boolean[];
  last_granted integer;
begin
  -- Held until the commit is visible: so positions become visible in their order and a reader never has to look back. Taken in a
  -- statement of its own: the next one sees all that the previous holder committed.
  perform pg_advisory_xact_lock(727275);

  select coalesce(max(e.position), 0) into log_end from es.events e;

  select array_agg(j.tail order by j.number), array_agg(j.guard_tail order by j.number),
    array_agg(j.fits order by j.number), max(j.last_event) filter (where j.fits)
  into tails, guard_tails, granted, last_granted
  from (
    select t.*, t.tail = t.expected and (t.guard is null or t.guard_tail = t.guard_revision) as fits
    from (
      select r.*,
        coalesce((select max(e.revision) from es.events e where e.stream_id = r.stream), -1)::bigint as tail,
        case when r.guard is not null
          then coalesce((select max(e.revision) from es.events e where e.stream_id = r.guard), -1)::bigint end as guard_tail
      from unnest(request_streams, expected_revisions, request_ends, guard_streams, guard_revisions)
        with ordinality as r (stream, expected, last_event, guard, guard_revision, number)
    ) t
  ) j;

  if last_granted is not null then
    insert into es.events (position, stream_id, revision, event_id, type, schema_version, data, metadata, bytes)
    select log_end + n.number, request_streams[n.request], expected_revisions[n.request] + n.place, n.id, n.type,
      n.schema_version, n.data::json, n.metadata::json, octet_length(n.data) + octet_length(n.metadata)
    from unnest(event_requests, event_places, event_ids, event_types, event_schema_versions, event_data, event_metadata)
      with ordinality as n (request, place, id, type, schema_version, data, metadata, number)
    where granted[n.request];
    perform pg_notify('events', (log_end + last_granted)::text);
  end if;

  return query
  select
    case when granted[r.number] then log_end + r.last_event
    else (
      select e.position from es.events e
      where e.stream_id = r.stream and e.revision = r.expected + r.size
        and event_ids[r.last_event - r.size + 1 : r.last_event] = array(
          select w.event_id from es.events w
          where w.stream_id = r.stream and w.revision > r.expected and w.revision <= r.expected + r.size
          order by w.revision
        )
    ) end,
    tails[r.number], guard_tails[r.number]
  from unnest(request_streams, expected_revisions, request_sizes, request_ends)
    with ordinality as r (stream, expected, size, last_event, number)
  order by r.number;
end $$;

revoke all on all functions in schema es from public;
grant usage on schema es to :service;
grant select on es.events to :service;
grant execute on function es.append to :service;
