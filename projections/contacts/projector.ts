import type { ContactEvent } from "#streams/contact/events.ts";
import type { Recorded } from "#streams/event.ts";
import type { InboundMessage, ThreadEvent } from "#streams/thread/events.ts";
import { updateCounts } from "../counts.ts";
import { contactId } from "../derivedId.ts";
import type { Projection, ProjectorTx } from "../projection.ts";
import { rowsById, upsertRows } from "../rows.ts";
import { foldText } from "../search/words.ts";
import { contactCounts, tagCounts } from "./counts.ts";

type Row = {
  id: string;
  workspace_id: string;
  email: string;
  name: string | null;
  domain: string;
  status: string;
  tags: string[];
  first_seen_at: string | Date;
  last_seen_at: string | Date;
  created_at: string | Date;
  updated_at: string | Date;
};

const columns = [
  "id",
  "workspace_id",
  "email",
  "name",
  "domain",
  "status",
  "tags",
  "first_seen_at",
  "last_seen_at",
  "created_at",
  "updated_at",
] as const;

const contactTable = { table: "contacts", columns };

type Received = Extract<ThreadEvent, { type: "MessageReceived" }>;

type ContactKey = { id: string; workspaceId: string; email: string };

/** Returns the contact of an event; undefined for a mail without a sender. */
function subjectOf(event: Recorded): ContactKey | undefined {
  const workspaceId = event.metadata.workspaceId as string;
  const data = event.data as Partial<InboundMessage> & { email?: string };
  const email = (event.type === "MessageReceived" ? data.from?.address : data.email)?.toLowerCase();
  return email === undefined ? undefined : { id: contactId(workspaceId, email), workspaceId, email };
}

const newRow = ({ id, workspaceId, email }: ContactKey, at: string): Row => ({
  id,
  workspace_id: workspaceId,
  email,
  name: null,
  domain: email.slice(email.lastIndexOf("@") + 1),
  status: "unknown",
  tags: [],
  first_seen_at: at,
  last_seen_at: at,
  created_at: at,
  updated_at: at,
});

/** Updates a contact by a mail. The first mail with a name sets it, unless there is one. */
function seen(row: Row, { from, receivedAt }: InboundMessage): Row {
  const later = new Date(receivedAt) > new Date(row.last_seen_at);
  return { ...row, name: row.name ?? (from?.name || null), last_seen_at: later ? receivedAt : row.last_seen_at };
}

function apply(row: Row, event: Received | Exclude<ContactEvent, { type: "ContactDeleted" }>): Row {
  if (event.type === "MessageReceived") return seen(row, event.data);
  if (event.type === "ContactTagged") return { ...row, tags: [...row.tags, event.data.tag] };
  const { name = row.name, status = row.status, tags = row.tags } = event.data;
  return { ...row, name, status, tags };
}

/** Contacts: everyone who has written to a workspace, and changes recorded about them. A deleted contact's next mail creates it again. */
export const contacts: Projection<Received | ContactEvent> = {
  name: "contacts",
  version: 3,
  tables: ["contacts", "contact_counts", "contact_tags", "contact_tag_counts", "contact_words"],
  hasLateIndexes: true,
  handles: ["MessageReceived", "ContactUpdated", "ContactTagged", "ContactDeleted"],
  async project(tx, events) {
    const about = events.map((event) => ({ event, subject: subjectOf(event) }));
    const ids = about.flatMap(({ subject }) => (subject ? [subject.id] : []));
    const rows = await rowsById<Row>(tx, contactTable, ids);
    const before = new Map(rows);
    for (const { event, subject } of about) {
      if (!subject) continue;
      const { id } = subject;
      if (event.type === "ContactDeleted") {
        rows.delete(id);
        continue;
      }
      const { at } = event.metadata;
      const since = event.type === "MessageReceived" ? event.data.receivedAt : at;
      const row = rows.get(id) ?? newRow(subject, since);
      rows.set(id, { ...apply(row, event), updated_at: at });
    }
    write(tx, before, rows);
  },
};

function write(tx: ProjectorTx, before: ReadonlyMap<string, Row>, after: ReadonlyMap<string, Row>): void {
  const gone = [...before.keys()].filter((id) => !after.has(id));
  if (gone.length > 0) {
    tx.write("delete from contacts where id = any($1::uuid[])", [gone]);
    tx.write("delete from contact_words where id = any($1::uuid[])", [gone]);
  }
  const [known, all] = [[...before.values()], [...after.values()]];
  upsertRows(tx, contactTable, all);
  updateCounts(tx, contactCounts, { before: known, after: all });
  const renamed = all.filter(({ id, name }) => !before.has(id) || before.get(id)?.name !== name);
  const words = renamed.map((row) => ({ ...row, words: foldText(`${row.name ?? ""} ${row.email}`) }));
  upsertRows(tx, { table: "contact_words", columns: ["id", "workspace_id", "words"] }, words);
  const retagged = all.filter(({ id, tags }) => JSON.stringify(before.get(id)?.tags ?? []) !== JSON.stringify(tags));
  const untagged = [...gone, ...retagged.map(({ id }) => id)];
  if (untagged.length > 0) tx.write("delete from contact_tags where contact_id = any($1::uuid[])", [untagged]);
  upsertRows(tx, { table: "contact_tags", key: tagColumns, columns: tagColumns }, retagged.flatMap(tagsOf));
  updateCounts(tx, tagCounts, { before: known.flatMap(tagsOf), after: all.flatMap(tagsOf) });
}

const tagsOf = ({ id, workspace_id, tags }: Row) => tags.map((tag) => ({ workspace_id, tag, contact_id: id }));

const tagColumns = ["workspace_id", "tag", "contact_id"];
