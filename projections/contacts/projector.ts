import type { ContactEvent } from "#streams/contact/events.ts";
import type { Recorded } from "#streams/event.ts";
import type { InboundMessage } from "#streams/thread/events.ts";
import { contactId } from "../derivedId.ts";
import type { Projection } from "../projection.ts";
import { rowsById, upsertRows } from "../rows.ts";

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

/** Whom an event is about; undefined for a mail without a sender. */
function subjectOf(event: Recorded): { id: string; workspaceId: string; email: string } | undefined {
  const workspaceId = event.metadata.workspaceId as string;
  const data = event.data as Partial<InboundMessage> & { email?: string };
  const email = (event.type === "MessageReceived" ? data.from?.address : data.email)?.toLowerCase();
  return email === undefined ? undefined : { id: contactId(workspaceId, email), workspaceId, email };
}

const newRow = (id: string, workspaceId: string, email: string, at: string): Row => ({
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

/** The first mail that has a name gives it, unless one stands there. */
function seen(row: Row, { from, receivedAt }: InboundMessage): Row {
  const later = new Date(receivedAt) > new Date(row.last_seen_at);
  return { ...row, name: row.name ?? (from?.name || null), last_seen_at: later ? receivedAt : row.last_seen_at };
}

function edited(row: Row, event: Exclude<ContactEvent, { type: "ContactDeleted" }>): Row {
  if (event.type === "ContactTagged") return { ...row, tags: [...row.tags, event.data.tag] };
  const { name = row.name, status = row.status, tags = row.tags } = event.data;
  return { ...row, name, status, tags };
}

/** Whoever wrote to a workspace, and what was said about them. A deleted contact is made anew by its next mail. */
export const contacts: Projection = {
  name: "contacts",
  version: 1,
  tables: ["contacts"],
  handles: ["MessageReceived", "ContactUpdated", "ContactTagged", "ContactDeleted"],
  async project(tx, events) {
    const about = events.map((event) => ({ event, subject: subjectOf(event) }));
    const ids = about.flatMap(({ subject }) => (subject ? [subject.id] : []));
    const rows = await rowsById<Row>(tx, "contacts", columns, ids);
    const deleted = new Set<string>();
    for (const { event, subject } of about) {
      if (!subject) continue;
      const { id, workspaceId, email } = subject;
      const { at } = event.metadata;
      if (event.type === "ContactDeleted") {
        rows.delete(id);
        deleted.add(id);
        continue;
      }
      const received = event.type === "MessageReceived" ? (event.data as unknown as InboundMessage) : undefined;
      const row = rows.get(id) ?? newRow(id, workspaceId, email, received?.receivedAt ?? at);
      rows.set(id, { ...(received ? seen(row, received) : edited(row, event as never)), updated_at: at });
    }
    if (deleted.size > 0) await tx.query("delete from contacts where id = any($1::uuid[])", [[...deleted]]);
    await upsertRows(tx, "contacts", ["id"], columns, [...rows.values()]);
  },
};
