import { derivedId } from "#projections/derivedId.ts";
import type { Ids } from "#src/platform/clock.ts";
import type { Cause } from "./handle.ts";

export { contactId, derivedId } from "#projections/derivedId.ts";

/** An id for something new; under an Idempotency-Key the same one for every repetition, so that it is made once. `kind` is its noun. */
export const newId = (deps: { ids: Ids }, cause: Pick<Cause, "operation">, kind: string): string =>
  cause.operation === undefined ? deps.ids.uuid() : derivedId(kind, cause.operation);

/**
 * Whether the text has the form of a UUID, of any version and variant, in lower or upper case. (The uuid package's `validate` would refuse
 * ids that callers of the API may name today.)
 */
export const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** The sandbox domain has its own id in every workspace. */
export const sandboxDomainId = (workspaceId: string): string => derivedId("sandbox-domain", workspaceId);
