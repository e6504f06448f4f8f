import { conditions, type Order, type Page, type PageQuery, readPage, type Window } from "../page.ts";
import type { Tx } from "../projection.ts";
import type { Reads } from "../reads.ts";
import { rowById } from "../rowById.ts";
import { foldText } from "../search/words.ts";

/** Contact as in the API. */
export type ContactRow = {
  id: string;
  workspace_id: string;
  email: string;
  name: string | null;
  domain: string;
  status: "unknown" | "trusted" | "blocked";
  tags: string[];
  first_seen_at: Date;
  last_seen_at: Date;
  created_at: Date;
  updated_at: Date;
};

const columns =
  "id, workspace_id, email, name, domain, status, tags, first_seen_at, last_seen_at, created_at, updated_at";

export const contactById = (reads: Reads, workspaceId: string, id: string) =>
  rowById<ContactRow>(reads, workspaceId, { id, select: columns, from: "contacts" });

export type ContactFilter = Window & {
  /** Part of the address or the name, ignoring case. */
  q?: string;
  status?: string;
  tag?: string;
  /** Domain of the address, in lower case. */
  domain?: string;
};

const like = (text: string): string => `%${foldText(text).replace(/[\\%_]/g, "\\$&")}%`;

/** Matches up to which all are looked up and sorted; of more, the newest contacts are scanned until a page is full. */
const few = 2_000;

const lastSeenFirst: Order = { columns: ["last_seen_at", "id"], direction: "desc" };

/** Lists contacts, the most recent sender first. */
export async function listContacts(
  reads: Reads,
  workspaceId: string,
  filter: ContactFilter,
): Promise<Page<ContactRow>> {
  const { q } = filter;
  const sql = reads.of(workspaceId);
  const list = { select: columns, from: "contacts", order: lastSeenFirst, window: filter };
  const others = othersOf(filter);
  if (q === undefined) {
    return readPage(sql, { ...list, ...conditions(workspaceId, others), ...countsOf(workspaceId, filter) });
  }
  const pattern = like(q);
  const found = await contactsWith(sql, pattern);
  if (found.length <= few) {
    return readPage(sql, { ...list, ...conditions(workspaceId, [...others, ["id = any({n}::uuid[])", found]]) });
  }
  return readPage(sql, {
    ...list,
    ...conditions(workspaceId, [...others, [matches, pattern]]),
    total: await countWith(sql, pattern, { ...conditions(workspaceId, [...others, [matching, pattern]]), filter }),
  });
}

async function contactsWith(sql: Tx, pattern: string): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>("select id from work.contacts_with($1, $2) id", [pattern, few + 1]);
  return rows.map(({ id }) => id);
}

const othersOf = ({ status, tag, domain }: ContactFilter) =>
  [
    // Names the condition of the index of contacts whose status is known.
    [status === "unknown" ? "status = {n}" : "status <> 'unknown' and status = {n}", status],
    [tagged, tag],
    ["domain = {n}", domain],
  ] as const;

const ofContact = "workspace_id = contacts.workspace_id";
const tagged = `exists (select from contact_tags t where t.${ofContact} and t.tag = {n} and t.contact_id = contacts.id)`;
const matching = "exists (select from contact_words w where w.id = contacts.id and w.words like {n})";
/** Condition that tests row by row, in the order of the list, as far as the page needs it. */
const matches = "(select w.words like {n} from contact_words w where w.id = contacts.id)";

/** Counts the matches of a part that very many contacts have. */
async function countWith(
  sql: Tx,
  pattern: string,
  { where, values, filter }: Pick<PageQuery, "where" | "values"> & { filter: ContactFilter },
): Promise<number> {
  const { status, tag, domain } = filter;
  const alone = status === undefined && tag === undefined && domain === undefined;
  const { rows } = alone
    ? await sql.query<{ count: number }>("select work.count_contacts_with($1) as count", [pattern])
    : await sql.query<{ count: number }>(
        `select count(*)::int as count from contacts where ${where.join(" and ")}`,
        values,
      );
  return rows[0]?.count ?? 0;
}

/** Returns the stored counts of a filter, if there are any: for all contacts, a status, or a tag. */
function countsOf(workspaceId: string, { status, tag, domain }: ContactFilter): Pick<PageQuery, "counts"> {
  if (domain !== undefined || (status !== undefined && tag !== undefined)) return {};
  if (tag !== undefined)
    return { counts: { table: "contact_tag_counts", ...conditions(workspaceId, [["tag = {n}", tag]]) } };
  return { counts: { table: "contact_counts", ...conditions(workspaceId, [["status = {n}", status]]) } };
}
