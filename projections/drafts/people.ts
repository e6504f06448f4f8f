import type { DraftContent } from "#streams/draft/content.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { type Actor, idOf, type Recorded } from "#streams/event.ts";
import { json, type ProjectorTx } from "../projection.ts";
import type { Reads } from "../reads.ts";
import { type Table, upsertRows } from "../rows.ts";
import { senderTerms } from "../search/queries.ts";
import { beginningOf, foldText } from "../search/words.ts";
import type { DraftRow } from "./row.ts";

/** Recipients of drafts, and people who decided about them, by all that a search for them may begin with. */
const table: Table = {
  table: "draft_people",
  key: ["workspace_id", "person", "draft_id"],
  columns: ["workspace_id", "person", "draft_id"],
};

/** Writes the people in these events of drafts; `drafts` are their rows after the events. */
export function writePeople(
  tx: ProjectorTx,
  events: readonly Recorded<DraftEvent>[],
  drafts: ReadonlyMap<string, DraftRow>,
): void {
  const rows = new Map<string, Record<string, unknown>>();
  for (const event of events) {
    const draftId = idOf(event.stream);
    for (const person of peopleIn(event))
      rows.set(`${draftId} ${person}`, { workspace_id: drafts.get(draftId)?.workspace_id, person, draft_id: draftId });
  }
  upsertRows(tx, table, [...rows.values()]);
}

function peopleIn(event: Recorded<DraftEvent>): string[] {
  switch (event.type) {
    case "DraftSubmitted":
    case "DraftEdited":
      return recipientsOf(event.data.content).flatMap(beginnings);
    case "ApprovalGiven":
    case "ChangesRequested":
    case "DraftApproved":
    case "DraftRejected":
      return namesOf(event.metadata.actor).flatMap(beginnings);
    default:
      return [];
  }
}

/** Content that is too large for an event is in a blob, so its recipients are not known here. */
const recipientsOf = (content: DraftContent | null): string[] =>
  content ? [...content.to, ...content.cc, ...content.bcc] : [];

const kindsOfPeople: readonly Actor["kind"][] = ["email_link", "session", "slack", "telegram"];

const namesOf = ({ kind, id, name, email }: Actor): string[] =>
  kindsOfPeople.includes(kind) ? [id.includes("@") ? id : "", name ?? "", email ?? ""] : [];

/** Characters of a name or address that are searched. */
const longestName = 200;

/** Returns an address with its domain alone, or a name from each of its words on. */
function beginnings(nameOrAddress: string): string[] {
  const folded = beginningOf(foldText(nameOrAddress).trim(), longestName);
  return [...folded.matchAll(/(?<=^|[\s@])[^\s@]/g)].map(({ index }) => folded.slice(index));
}

/** Returns the subjects of an identity's mails to an address that were sent in this time. Mail whose content is in a blob is left out. */
export async function subjectsSentTo(
  reads: Reads,
  workspaceId: string,
  { identityId, address, since, until }: { identityId: string; address: string; since: Date; until: Date },
): Promise<string[]> {
  const { rows } = await reads.of(workspaceId).query<{ subject: string }>(
    `select content ->> 'subject' as subject from drafts
     where workspace_id = $1 and identity_id = $2 and sent_at between $3 and $4 and content is not null
       and id = any(array(select draft_id from draft_people where workspace_id = $1 and person = $5))`,
    [workspaceId, identityId, since, until, beginningOf(foldText(address), longestName)],
  );
  return rows.map(({ subject }) => subject);
}

/**
 * Returns the condition for drafts to or decided by a person whose address, its domain, or a word of whose name begins so, and for drafts of
 * threads to which a sender wrote who has these parts in name or address.
 */
export function personCondition(text: string): readonly [sql: string, value: string] {
  const terms = senderTerms(text);
  const named = `id = any(array(select draft_id from draft_people where workspace_id = $1
    and person >= ({n}::json ->> 'person') and person < ({n}::json ->> 'person') || chr(1114111)))`;
  const wrote = "thread_id = any(array(select work.threads_with('@', {n}::json -> 'terms')))";
  const value = json({ person: beginningOf(foldText(text).trim(), longestName), terms });
  return [terms.length === 0 ? named : `(${named} or ${wrote})`, value];
}
