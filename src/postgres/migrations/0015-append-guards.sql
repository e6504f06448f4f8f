-- Appends as in 0001-event-log.sql, each guarded by any number of streams. guard_requests: per guard the number (from 1) of its request.
-- moved_guard: of the request's own guards the first (from 1) that is not at its revision, and moved_revision where it is.
create function es.append(
  request_streams text[], expected_revisions bigint[], request_sizes integer[], request_ends integer[],
  guard_requests integer[], guard_streams text[], guard_revisions bigint[],
  event_requests integer[], event_places integer[], event_ids uuid[], event_types text[],
  event_schema_versions smallint[], event_data text[], event_metadata text[]
) returns table (appended_position bigint, actual_revision bigint, moved_guard integer, moved_revision bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  log_end bigint;
  tails bigint[];
  moved_guards integer[];
  moved_revisions bigint[];
  granted boolean[];
  last_granted integer;
begin
  -- Held until the commit is visible: so positions become visible in their order and a reader never has to look back. Taken in a
  -- statement of its own: the next one sees all that the previous holder committed.
  perform pg_advisory_xact_lock(727275);

  select coalesce(max(e.position), 0) into log_end from es.events e;

  with guards as (
    select g.request, g.revision, row_number() over (partition by g.request order by g.number)::integer as place,
      coalesce((select max(e.revision) from es.events e where e.stream_id = g.stream), -1)::bigint as tail
    from unnest(guard_requests, guard_streams, guard_revisions) with ordinality as g (request, stream, revision, number)
  ),
  moved as (
    select distinct on (request) request, place, tail from guards where tail <> revision order by request, place
  ),
  judged as (
    select r.number, r.last_event, m.place, m.tail as moved_tail, r.tail, r.tail = r.expected and m.request is null as fits
    from (
      select r.*, coalesce((select max(e.revision) from es.events e where e.stream_id = r.stream), -1)::bigint as tail
      from unnest(request_streams, expected_revisions, request_ends)
        with ordinality as r (stream, expected, last_event, number)
    ) r left join moved m on m.request = r.number
  )
  select array_agg(tail order by number), array_agg(place order by number), array_agg(moved_tail order by number),
    array_agg(fits order by number), max(last_event) filter (where fits)
  into tails, moved_guards, moved_revisions, granted, last_granted
  from judged;

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
    tails[r.number], moved_guards[r.number], moved_revisions[r.number]
  from unnest(request_streams, expected_revisions, request_sizes, request_ends)
    with ordinality as r (stream, expected, size, last_event, number)
  order by r.number;
end $$;

revoke all on function es.append(
  text[], bigint[], integer[], integer[], integer[], text[], bigint[], integer[], integer[], uuid[], text[], smallint[], text[], text[]
) from public;
grant execute on function es.append(
  text[], bigint[], integer[], integer[], integer[], text[], bigint[], integer[], integer[], uuid[], text[], smallint[], text[], text[]
) to :service;
