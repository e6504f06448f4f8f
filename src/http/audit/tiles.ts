import Type from "typebox";
import { entryEvents, saltKeyOf, tileOf } from "#projections/auditTree/queries.ts";
import { entryOf } from "#src/audit/leaf.ts";
import { hashesPerTile } from "#src/audit/merkle.ts";
import type { SignedHead } from "#src/platform/audit/heads.ts";
import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { type Reply, reply } from "../framework/reply.ts";
import { route } from "../framework/route.ts";

const Tree = { workspace: Type.String({ format: "uuid" }), epoch: Type.String({ pattern: "^[1-9][0-9]{0,5}$" }) };
const Part = Type.String({ pattern: "^(x?[0-9]{3}(\\.p)?|[0-9]{1,3})$" });

/**
 * Routes that serve the audit tree of a workspace as C2SP tlog-tiles has it, so that a monitor can follow it. Hashes and checkpoints are
 * public if the operator says so; entries never are.
 */
export const auditTileRoutes = (deps: HttpDependencies) => {
  const scope = deps.settings.auditPublic === true ? null : "read:audit";
  const answeredFrom = { limit: "read", answersFrom: ["auditTree"] } as const;

  return [
    route(
      "GET /audit/:workspace/:epoch/checkpoint",
      {
        ...answeredFrom,
        scope,
        summary: "Read the newest signed head of the audit tree",
        description:
          "A checkpoint as in C2SP tlog-checkpoint, signed as in C2SP signed-note. A head is signed within an hour of a new event.",
        params: Type.Object(Tree),
        answers: { mediaType: "text/plain", description: "The checkpoint" },
      },
      async ({ params, ...caller }) => text((await headOf(deps, params, caller)).checkpoint),
    ),
    // The path of an entry bundle would match that of a tile, so it comes first.
    ...depths.map((depth) =>
      route(
        `GET /audit/:workspace/:epoch/tile/entries/${pathOf(depth)}`,
        {
          ...answeredFrom,
          scope: "read:audit",
          summary: "Read entries of the audit tree",
          description: "Up to 256 entries, each after its length in two bytes, as in C2SP tlog-tiles.",
          params: Type.Object({ ...Tree, ...partsOf(depth) }),
          answers: { mediaType: "application/octet-stream", description: "The entries" },
        },
        async ({ params, ...caller }) => {
          const head = await headOf(deps, params, caller);
          return bundle(deps, head.treeId, tileAt(params, { level: 0, size: head.size }));
        },
      ),
    ),
    ...depths.map((depth) =>
      route(
        `GET /audit/:workspace/:epoch/tile/:level/${pathOf(depth)}`,
        {
          ...answeredFrom,
          scope,
          summary: "Read a tile of the audit tree",
          description: "Up to 256 hashes of a level, 32 bytes each, as in C2SP tlog-tiles.",
          params: Type.Object({
            ...Tree,
            level: Type.String({ pattern: "^([0-9]|[1-5][0-9]|6[0-3])$" }),
            ...partsOf(depth),
          }),
          answers: { mediaType: "application/octet-stream", description: "The tile" },
        },
        async ({ params, ...caller }) => {
          const head = await headOf(deps, params, caller);
          const level = Number(params.level);
          const tile = tileAt(params, { level, size: head.size });
          return bytes(await tileOf(deps.reads, head.treeId, { ...tile, level }));
        },
      ),
    ),
    route(
      "GET /.well-known/countersign-audit-keys",
      {
        scope: null,
        limit: "read",
        summary: "Read the public keys of the audit trees",
        description:
          "A line for each Ed25519 key that signs or has signed heads: its type and bytes as in the verifier keys of C2SP signed-note, in base64, and when it first signed. The verifier key of a tree is ORIGIN+ID+KEY; evidence has it in its policy.",
        answers: { mediaType: "text/plain", description: "The keys" },
      },
      async () => text(keyLines(await deps.auditHeads.verifierKeys())),
    ),
  ];
};

/** A tile's number is in groups of three digits; a partial tile's width is one more part of its path. */
const depths = [1, 2, 3, 4] as const;
const names = ["n1", "n2", "n3", "n4"] as const;

const pathOf = (depth: number): string =>
  names
    .slice(0, depth)
    .map((name) => `:${name}`)
    .join("/");

const partsOf = (depth: number) => Object.fromEntries(names.slice(0, depth).map((name) => [name, Part]));

/** Returns the newest head of a tree that the caller may see. Throws not_found. */
async function headOf({ auditHeads, settings }: HttpDependencies, params: object, caller: object): Promise<SignedHead> {
  const { workspace, epoch } = params as { workspace: string; epoch: string };
  const isOwn = "workspaceId" in caller && caller.workspaceId === workspace;
  const head = settings.auditPublic || isOwn ? await auditHeads.newest(workspace) : undefined;
  if (!head || head.epoch !== Number(epoch))
    throw new Rejected("not_found", "no such audit tree, or no head of it is signed yet");
  return head;
}

/** Reads the number and width of a tile from its path. Throws not_found unless a tree of this size has all of its hashes. */
function tileAt(params: object, { level, size }: { level: number; size: number }): TilePath {
  const named = params as Partial<Record<string, string>>;
  const tile = readTilePath(names.flatMap((name) => named[name] ?? []));
  if (!tile || tile.number * hashesPerTile + tile.width > Math.floor(size / hashesPerTile ** level))
    throw new Rejected("not_found", "no such tile of this audit tree");
  return tile;
}

type TilePath = { number: number; width: number };

/** Reads a tile's number, in groups of three digits, and its width if it is partial: `x001/234`, `067.p/112`. Each has one form. */
export function readTilePath(parts: readonly string[]): TilePath | undefined {
  const [, groups = "", last = "", width] =
    /^((?:(?!x000\/)x\d{3}\/(?:x\d{3}\/)*)?)(\d{3})(?:\.p\/(\d{1,3}))?$/.exec(parts.join("/")) ?? [];
  const wide = width === undefined ? hashesPerTile : Number(width);
  if (last === "" || wide < 1 || (width !== undefined && (wide >= hashesPerTile || String(wide) !== width)))
    return undefined;
  return { number: Number(`${groups.replaceAll(/[x/]/g, "")}${last}`), width: wide };
}

/** Returns an entry bundle: each entry after its length, two bytes, big-endian. */
async function bundle({ reads, store }: HttpDependencies, treeId: string, { number, width }: TilePath): Promise<Reply> {
  const from = number * hashesPerTile;
  const [events, key] = await Promise.all([
    entryEvents(reads, treeId, { from, to: from + width }),
    saltKeyOf(reads, treeId),
  ]);
  const parts: Buffer[] = [];
  for (const { stream, revision } of events) {
    const [event] = await store.read(stream, revision, 1);
    const { bytes: entry } = entryOf(event!, key!);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(entry.length);
    parts.push(length, entry);
  }
  return bytes(Buffer.concat(parts));
}

const text = (content: string): Reply =>
  reply({ bytes: Buffer.from(content), headers: { "Content-Type": "text/plain; charset=utf-8" } });

const bytes = (content: Buffer): Reply =>
  reply({ bytes: content, headers: { "Content-Type": "application/octet-stream" } });

/** Removes the log's name and id from verifier keys: all logs are signed by the same key. */
function keyLines(keys: readonly { verifierKey: string; since: Date }[]): string {
  const since = new Map<string, Date>();
  for (const { verifierKey, since: at } of keys) {
    const key = verifierKey.split("+").slice(2).join("+");
    if (!since.has(key)) since.set(key, at);
  }
  return [...since].map(([key, at]) => `${key} since ${at.toISOString()}\n`).join("");
}
