import { conditions, type Page, type PageQuery, page, pageOfFound } from "../page.ts";
import type { Tx } from "../projection.ts";
import type { Reads } from "../reads.ts";
import { fold } from "../search/words.ts";

/** The Contact of the wire (decisions 8). */
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

export async function contactById(reads: Reads, workspaceId: string, id: string): Promise<ContactRow | undefined> {
  const { rows } = await reads
    .of(workspaceId)
    .query<ContactRow>(`select ${columns} from contacts where workspace_id = $1 and id = $2`, [workspaceId, id]);
  return rows[0];
}

export type ContactFilter = {
  /** Part of the address or the name, in any case. */
  q?: string;
  status?: string;
  tag?: string;
  /** In lower case. */
  domain?: string;
  limit: number;
  offset: number;
};

const like = (text: string): string => `%${fold(text).replace(/[\\%_]/g, "\\$&")}%`;

/** So many are sorted; of more, the newest are walked through until a page is full. */
const few = 2_000;

/** Whoever wrote last comes first. */
export async function listContacts(
  reads: Reads,
  workspaceId: string,
  filter: ContactFilter,
): Promise<Page<ContactRow>> {
  const { q, limit, offset } = filter;
  const sql = reads.of(workspaceId);
  const list = { select: columns, from: "contacts", orderBy: "last_seen_at desc, id", limit, offset };
  const others = othersOf(filter);
  if (q === undefined) {
    return page(sql, { ...list, ...conditions(workspaceId, others), ...countsOf(workspaceId, filter) });
  }
  const pattern = like(q);
  const total = await countWith(sql, pattern);
  if (total <= few) return pageOfFound(sql, { ...list, ...conditions(workspaceId, [...others, [among, pattern]]) });
  return page(sql, {
    ...list,
    ...conditions(workspaceId, [...others, [matches, pattern]]),
    total: await totalWith(sql, conditions(workspaceId, [...others, [matching, pattern]]), filter, total),
  });
}

const othersOf = ({ status, tag, domain }: ContactFilter) =>
  [
    ["status = {n}", status],
    [tagged, tag],
    ["domain = {n}", domain],
  ] as const;

const ofContact = "workspace_id = contacts.workspace_id";
const tagged = `exists (select from contact_tags t where t.${ofContact} and t.tag = {n} and t.contact_id = contacts.id)`;
const matching = "exists (select from contact_words w where w.id = contacts.id and w.words like {n})";
/** The same, row by row: in the order of the list, as far as the page needs it. */
const matches = "(select w.words like {n} from contact_words w where w.id = contacts.id)";
const among = "id in (select work.contacts_with({n}))";

async function countWith(sql: Tx, pattern: string): Promise<number> {
  const { rows } = await sql.query<{ count: number }>("select work.count_contacts_with($1) as count", [pattern]);
  return rows[0]?.count ?? 0;
}

/** Of those found, how many meet the other conditions too. */
async function totalWith(
  sql: Tx,
  { where, values }: Pick<PageQuery, "where" | "values">,
  { status, tag, domain }: ContactFilter,
  found: number,
): Promise<number> {
  if (status === undefined && tag === undefined && domain === undefined) return found;
  const text = `select count(*)::int as count from contacts where ${where.join(" and ")}`;
  const { rows } = await sql.query<{ count: number }>(text, values);
  return rows[0]?.count ?? 0;
}

/** Where contacts are counted beforehand: all of them, those of a status, those with a tag. */
function countsOf(workspaceId: string, { status, tag, domain }: ContactFilter): Pick<PageQuery, "counts"> {
  if (domain !== undefined || (status !== undefined && tag !== undefined)) return {};
  if (tag !== undefined)
    return { counts: { table: "contact_tag_counts", ...conditions(workspaceId, [["tag = {n}", tag]]) } };
  return { counts: { table: "contact_counts", ...conditions(workspaceId, [["status = {n}", status]]) } };
}
