import { derivedId } from "#projections/derivedId.ts";
import type { Ids } from "#src/platform/clock.ts";
import type { Cause } from "./handle.ts";

export { contactId, derivedId } from "#projections/derivedId.ts";

/**
 * Returns an id for a new thing. In an operation with an Idempotency-Key, each repetition gets the same id, so that the thing is created
 * once. `kind`: noun of the thing.
 */
export const newId = (deps: { ids: Ids }, cause: Pick<Cause, "operation">, kind: string): string =>
  cause.operation === undefined ? deps.ids.uuid() : derivedId(kind, cause.operation);

/**
 * True if the text is a UUID of any version and variant, in lower or upper case. (The uuid package's `validate`
 * would refuse ids that API callers may use.)
 */
export const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** Returns the id of the sandbox domain, which differs per workspace. */
export const sandboxDomainId = (workspaceId: string): string => derivedId("sandbox-domain", workspaceId);
