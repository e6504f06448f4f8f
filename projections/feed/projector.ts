import { idOf, type Recorded } from "#streams/event.ts";
import type { Projection, Tx } from "../projection.ts";
import { rowsById, upsertRows } from "../rows.ts";
import { type PublicEvent, publicEvents, publishedTypes, type SubjectFacts, subjectOf } from "./publicEvents.ts";

type FeedSubject = SubjectFacts & { id: string; workspace_id: string | null };

const subjectTable = {
  table: "feed_subjects",
  columns: ["id", "workspace_id", "thread_id", "identity_id", "message_id", "domain_name"],
};

/** Unpublished events with which a subject begins. */
const beginnings = ["ThreadOpened", "DomainAdded"];

const eventTable = {
  table: "feed_events",
  key: ["workspace_id", "position", "part"],
  columns: [
    "workspace_id",
    "position",
    "part",
    "sequence",
    "id",
    "type",
    "created_at",
    "subject",
    "identity_id",
    "data",
  ],
};

/** Returns the draft, thread or domain that begins with this event. */
function begun(event: Recorded): FeedSubject | undefined {
  const { threadId, identityId, messageId, name } = event.data as Record<string, string>;
  const id = idOf(event.stream);
  const of = (known: Partial<SubjectFacts>): FeedSubject => ({
    ...unknown,
    ...known,
    id,
    workspace_id: event.metadata.workspaceId,
  });
  switch (event.type) {
    case "ThreadOpened":
      return of({ thread_id: id, identity_id: identityId as string });
    case "DraftSubmitted":
      return of({ thread_id: threadId as string, identity_id: identityId as string, message_id: messageId ?? null });
    case "DomainAdded":
      return of({ domain_name: name as string });
    default:
      return undefined;
  }
}

const unknown: SubjectFacts = { thread_id: null, identity_id: null, message_id: null, domain_name: null };

/** Reads the last sequence numbers of these workspaces before the batch. */
async function lastSequences(tx: Tx, workspaceIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await tx.query<{ id: string; last: number }>(
    `select w.id, coalesce((
       select f.sequence from feed_events f where f.workspace_id = w.id order by f.position desc, f.part desc limit 1
     ), 0)::bigint as last from unnest($1::uuid[]) as w (id)`,
    [workspaceIds],
  );
  return new Map(rows.map((row) => [row.id, Number(row.last)]));
}

/** Events published to integrators, in log order, numbered within each workspace. */
export const feed: Projection = {
  name: "feed",
  version: 5,
  tables: ["feed_events", "feed_subjects"],
  hasLateIndexes: true,
  handles: [...beginnings, ...publishedTypes],
  async project(tx, events) {
    const [subjects, sequences] = await Promise.all([
      rowsById<FeedSubject>(tx, subjectTable, events.map(subjectOf)),
      lastSequences(tx, [...new Set(events.flatMap(({ metadata }) => metadata.workspaceId ?? []))]),
    ]);
    const fresh: FeedSubject[] = [];
    const made: (PublicEvent & { position: number; part: number })[] = [];
    for (const event of events) {
      const subject = begun(event);
      if (subject) {
        fresh.push(subject);
        subjects.set(subject.id, subject);
      }
      const news = publicEvents(event, (id) => subjects.get(id));
      made.push(...news.map((each, part) => ({ ...each, position: event.position, part })));
    }
    upsertRows(tx, subjectTable, fresh);
    const rows = made.map((each) => {
      const sequence = (sequences.get(each.workspace_id) ?? 0) + 1;
      sequences.set(each.workspace_id, sequence);
      return { ...each, sequence };
    });
    upsertRows(tx, eventTable, rows);
  },
};
