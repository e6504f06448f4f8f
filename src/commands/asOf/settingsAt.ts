import { idsExistingAt } from "#projections/existingAt.ts";
import type { IdentityRow } from "#projections/identities/queries.ts";
import { identityAfter } from "#projections/identities/replay.ts";
import type { RuleRow } from "#projections/rules/queries.ts";
import { ruleAfter } from "#projections/rules/replay.ts";
import { type IdentityEvent, identityStream } from "#streams/identity/events.ts";
import { type RuleEvent, ruleStream } from "#streams/rule/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { eventsUntil, readEach } from "./eventsUntil.ts";

type Ports = Pick<Dependencies, "store" | "reads">;
type Existing = { workspace_id: string; deleted_at: Date | null };

/** Returns an identity as it was at a time, deleted or not; undefined if it was not created yet. */
export const identityWithId = async ({ store }: Pick<Ports, "store">, id: string, at: Date) =>
  identityAfter(await eventsUntil<IdentityEvent>(store, identityStream(id), at));

const ruleWithId = async ({ store }: Pick<Ports, "store">, id: string, at: Date) =>
  ruleAfter(await eventsUntil<RuleEvent>(store, ruleStream(id), at));

/** Returns the row without its deletion, if it existed in this workspace. */
function existing<Row extends Existing>(
  row: Row | undefined,
  workspaceId: string,
): Omit<Row, "deleted_at"> | undefined {
  if (row?.workspace_id !== workspaceId || row.deleted_at !== null) return undefined;
  const { deleted_at: _, ...rest } = row;
  return rest;
}

/** Returns an identity of a workspace at a time; undefined if it did not exist then. */
export const identityAt = async (
  deps: Ports,
  { workspaceId, id, at }: { workspaceId: string; id: string; at: Date },
): Promise<IdentityRow | undefined> => existing(await identityWithId(deps, id, at), workspaceId);

/** Returns a rule of a workspace at a time; undefined if it did not exist then. */
export const ruleAt = async (
  deps: Ports,
  { workspaceId, id, at }: { workspaceId: string; id: string; at: Date },
): Promise<RuleRow | undefined> => existing(await ruleWithId(deps, id, at), workspaceId);

/** Returns all identities of a workspace at a time, in no order. */
export const identitiesAt = (deps: Ports, workspaceId: string, at: Date): Promise<IdentityRow[]> =>
  allAt(deps, { table: "identities", at, workspaceId }, (id) => identityAt(deps, { workspaceId, id, at }));

/** Returns all rules of a workspace at a time, in no order. */
export const rulesAt = (deps: Ports, workspaceId: string, at: Date): Promise<RuleRow[]> =>
  allAt(deps, { table: "rules", at, workspaceId }, (id) => ruleAt(deps, { workspaceId, id, at }));

async function allAt<Row>(
  { reads }: Ports,
  { table, at, workspaceId }: { table: "identities" | "rules"; at: Date; workspaceId: string },
  readOne: (id: string) => Promise<Row | undefined>,
): Promise<Row[]> {
  const rows = await readEach(await idsExistingAt(reads, workspaceId, { table, at }), readOne);
  return rows.filter((row) => row !== undefined);
}
