-- The event log. Only es.append writes it; no event in it is ever changed or removed.
create schema es;
revoke all on schema es from public;

create table es.events (
  -- One above the log's end, assigned under the lock of es.append: in commit order, so no event ever appears behind a reader's position.
  position bigint primary key,
  stream_id text collate "C" not null,
  revision integer not null,
  event_id uuid not null unique,
  type text collate "C" not null,
  schema_version smallint not null,
  -- json, not jsonb: a reader gets the text that was written, a NUL included, and a write parses nothing into parts.
  data json not null,
  metadata json not null,
  -- Size of data and metadata: a reader bounds a page by it without touching them.
  bytes integer not null,
  recorded_at timestamptz not null default clock_timestamp(),
  unique (stream_id, revision)
);

create function es.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'the event log is append-only: % refused', lower(tg_op) using errcode = 'insufficient_privilege';
end $$;

-- Applies to the owner too, for installations where one role does everything.
create trigger append_only before update or delete or truncate on es.events
  for each statement execute function es.refuse_change();

-- Appends several requests, each to a stream of its own, in one transaction. A request is written whole if its stream is at the expected
-- revision and each stream that guards it at the guard's; otherwise none of its events is, and the other requests are not affected. A
-- request whose events are already stored right behind the expected revision gets the answer of the call that wrote them. The caller
-- makes sure that no stream of a call is both written and guarding, and none is written twice.
--
-- request_ends: per request the number (from 1) of its last event. guard_requests: per guard the number (from 1) of its request; the
-- guards of a request follow each other. event_requests, event_places: per event its request and its place in it (from 1).
--
-- Returns a row per request, in order. appended_position is null if it was refused. moved_guard: the request's first guard (from 1 among
-- its own) that is not at its revision; moved_revision: the revision that this guard's stream has.
--
-- A call has one or two requests and guards most of the time: a loop over them costs less than one statement over all, which PostgreSQL
-- would set up with every call.
create function es.append(
  request_streams text[], expected_revisions bigint[], request_sizes integer[], request_ends integer[],
  guard_requests integer[], guard_streams text[], guard_revisions bigint[],
  event_requests integer[], event_places integer[], event_ids uuid[], event_types text[],
  event_schema_versions smallint[], event_data text[], event_metadata text[]
) returns table (appended_position bigint, actual_revision bigint, moved_guard integer, moved_revision bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  log_end bigint;
  tail bigint;
  place integer;
  tails bigint[];
  moved_guards integer[];
  moved_revisions bigint[];
  granted boolean[];
  last_granted integer;
begin
  -- Held until the commit is visible, so that positions become visible in their order and a reader never has to go back. Taken in a
  -- separate statement: the next ones see all that the previous holder committed, and no other call writes meanwhile.
  perform pg_advisory_xact_lock(727275);

  select coalesce(max(e.position), 0) into log_end from es.events e;

  for number in 1 .. cardinality(guard_requests) loop
    place := case when guard_requests[number] = guard_requests[number - 1] then place + 1 else 1 end;
    continue when moved_guards[guard_requests[number]] is not null;
    select coalesce(max(e.revision), -1) into tail from es.events e where e.stream_id = guard_streams[number];
    if tail <> guard_revisions[number] then
      moved_guards[guard_requests[number]] := place;
      moved_revisions[guard_requests[number]] := tail;
    end if;
  end loop;

  for number in 1 .. cardinality(request_streams) loop
    select coalesce(max(e.revision), -1) into tail from es.events e where e.stream_id = request_streams[number];
    tails[number] := tail;
    granted[number] := tail = expected_revisions[number] and moved_guards[number] is null;
    if granted[number] then last_granted := request_ends[number]; end if;
  end loop;

  if last_granted is not null then
    insert into es.events (position, stream_id, revision, event_id, type, schema_version, data, metadata, bytes)
    select log_end + n.number, request_streams[n.request], expected_revisions[n.request] + n.place, n.id, n.type,
      n.schema_version, n.data::json, n.metadata::json, octet_length(n.data) + octet_length(n.metadata)
    from unnest(event_requests, event_places, event_ids, event_types, event_schema_versions, event_data, event_metadata)
      with ordinality as n (request, place, id, type, schema_version, data, metadata, number)
    where granted[n.request];
    -- The new end of the log, and the event there.
    perform pg_notify('events', concat_ws(' ', log_end + last_granted, event_ids[last_granted]));
  end if;

  for number in 1 .. cardinality(request_streams) loop
    appended_position := null;
    if granted[number] then
      appended_position := log_end + request_ends[number];
    -- Only a stream that is this long can hold these very events.
    elsif tails[number] >= expected_revisions[number] + request_sizes[number] then
      select e.position into appended_position from es.events e
      where e.stream_id = request_streams[number] and e.revision = expected_revisions[number] + request_sizes[number]
        and event_ids[request_ends[number] - request_sizes[number] + 1 : request_ends[number]] = array(
          select w.event_id from es.events w
          where w.stream_id = e.stream_id and w.revision > expected_revisions[number]
            and w.revision <= expected_revisions[number] + request_sizes[number]
          order by w.revision
        );
    end if;
    actual_revision := tails[number];
    moved_guard := moved_guards[number];
    moved_revision := moved_revisions[number];
    return next;
  end loop;
end $$;

revoke all on all functions in schema es from public;
grant usage on schema es to :service;
grant select on es.events to :service;
grant execute on function es.append to :service;
