import { createHash } from "node:crypto";
import type { Clock, Ids } from "#src/platform/clock.ts";
import type { Database, Sql } from "#src/platform/postgres/database.ts";
import { BadLink, hoursOf, type LinkContent, type LinkKind, type Links, type NewLink } from "./links.ts";

const tokenBytes = 32;
/** Milliseconds after which a caller that began to use a link, and did not finish, loses it. */
const useMs = 60_000;
/** Milliseconds for which the reason why a link is invalid remains known. */
const rememberedMs = 30 * 86_400_000;

type Row = {
  about: unknown;
  address: string;
  expires_at: Date;
  begun_at: Date | null;
  used_at: Date | null;
  replaced_at: Date | null;
};

/** Stores links in PostgreSQL, with hashes of their tokens only. */
export function postgresLinks(deps: {
  database: Pick<Database, "query" | "transaction">;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "random">;
}): Links {
  const { database, clock, ids } = deps;

  async function find(kind: LinkKind, token: string): Promise<LinkContent & { isInUse: boolean }> {
    const { rows } = await database.query<Row>(select, [hashOf(token), kind]);
    const [row] = rows;
    const nowMs = clock.now().getTime();
    if (!row) throw new BadLink("unknown");
    if (row.used_at) throw new BadLink("used");
    if (row.replaced_at) throw new BadLink("replaced");
    if (row.expires_at.getTime() <= nowMs) throw new BadLink("expired");
    return { ...linked(row), isInUse: row.begun_at !== null && row.begun_at.getTime() > nowMs - useMs };
  }

  /** Reserves the link for this caller. `begunAt` identifies the reservation. */
  async function begin(kind: LinkKind, token: string): Promise<{ link: LinkContent; begunAt: Date }> {
    const begunAt = clock.now();
    const longAgo = new Date(begunAt.getTime() - useMs);
    const { rows } = await database.query<Row>(take, [hashOf(token), kind, begunAt, longAgo]);
    if (rows[0]) return { link: linked(rows[0]), begunAt };
    await find(kind, token);
    throw new BadLink("in_use");
  }

  const links: Links = {
    async issue(link) {
      const token = ids.random(tokenBytes).toString("base64url");
      await database.transaction((tx) => replaceBy(tx, { link, hash: hashOf(token), now: clock.now() }));
      return token;
    },
    async find(kind, token) {
      const { isInUse: _, ...link } = await find(kind, token);
      return link as LinkContent<any>;
    },
    async use(kind, token, work) {
      const { link, begunAt } = await begin(kind, token);
      const hash = hashOf(token);
      const result = await work(link as LinkContent<any>).catch(async (error) => {
        await database.query(giveBack, [hash, begunAt]).catch(() => undefined);
        throw error;
      });
      await database.query(finish, [hash, clock.now()]);
      return result;
    },
    take: (kind, token) => links.use(kind, token, async (link: LinkContent<any>) => link),
    async withdraw(kind, subject) {
      await database.query(replace, [kind, subject, clock.now()]);
    },
    async withdrawLeaked(tokens) {
      const tokenOf = new Map(tokens.map((token) => [hashOf(token).toString("hex"), token]));
      const hashes = tokens.map(hashOf);
      await database.query(withdrawAll, [hashes, clock.now()]);
      const { rows } = await database.query<{ hash: string }>(known, [hashes]);
      return rows.map(({ hash }) => tokenOf.get(hash) as string);
    },
  };
  return links;
}

async function replaceBy(tx: Sql, { link, hash, now }: { link: NewLink; hash: Buffer; now: Date }): Promise<void> {
  const { kind, subject, about, address } = link;
  // Serialises concurrent issues of the same kind and subject, so that the second replaces the first.
  await tx.query("select pg_advisory_xact_lock(hashtextextended($1, 7303))", [JSON.stringify([kind, subject])]);
  await tx.query(replace, [kind, subject, now]);
  const expiresAt = new Date(now.getTime() + hoursOf[kind] * 3_600_000);
  await tx.query(insert, [hash, kind, subject, JSON.stringify(about), address, expiresAt]);
  await tx.query(removeOld, [new Date(now.getTime() - rememberedMs)]);
}

const hashOf = (token: string): Buffer => createHash("sha256").update(token).digest();

const linked = ({ about, address, expires_at: expiresAt }: Row): LinkContent => ({ about, address, expiresAt });

const columns = "about, address, expires_at, begun_at, used_at, replaced_at";

const select = `select ${columns} from work.links where token_sha256 = $1 and kind = $2`;

const take = `
  update work.links set begun_at = $3
  where token_sha256 = $1 and kind = $2 and used_at is null and replaced_at is null and expires_at > $3
    and (begun_at is null or begun_at <= $4)
  returning ${columns}`;

const giveBack = "update work.links set begun_at = null where token_sha256 = $1 and begun_at = $2 and used_at is null";

const finish = "update work.links set used_at = $2 where token_sha256 = $1";

const replace = `
  update work.links set replaced_at = $3
  where kind = $1 and subject = $2 and used_at is null and replaced_at is null`;

const withdrawAll = `
  update work.links set replaced_at = $2
  where token_sha256 = any($1::bytea[]) and used_at is null and replaced_at is null`;

const known = "select encode(token_sha256, 'hex') as hash from work.links where token_sha256 = any($1::bytea[])";

const insert = `
  insert into work.links (token_sha256, kind, subject, about, address, expires_at) values ($1, $2, $3, $4, $5, $6)`;

const removeOld = "delete from work.links where expires_at < $1";
