import { conditions, page } from "../page.ts";
import type { Reads } from "../reads.ts";

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

const like = (text: string): string => `%${text.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`;

/** Whoever wrote last comes first. */
export function listContacts(reads: Reads, workspaceId: string, filter: ContactFilter) {
  const { where, values } = conditions(workspaceId, [
    ["lower(coalesce(name, '') || ' ' || email) like {n}", filter.q === undefined ? undefined : like(filter.q)],
    ["status = {n}", filter.status],
    ["tags @> array[{n}::text] and tags <> '{}'", filter.tag],
    ["domain = {n}", filter.domain],
  ]);
  return page<ContactRow>(reads.of(workspaceId), {
    select: columns,
    from: "contacts",
    where,
    values,
    orderBy: "last_seen_at desc, id",
    limit: filter.limit,
    offset: filter.offset,
  });
}
