import { v5 } from "uuid";
import type { Ids } from "#src/clock.ts";
import type { Cause } from "./handle.ts";

/** The namespace of every id that has to come out the same on a retry or a replay. */
const namespace = "6f1a4e0c-52c1-4d2b-9a57-0d7f7f1b7c11";

/** A UUIDv5 of these words: the same words, the same id. */
export const derivedId = (...words: readonly string[]): string => v5(words.join("\u0000"), namespace);

/** An id for something new; under an Idempotency-Key the same one for every repetition, so that it is made once. `kind` is its noun. */
export const newId = (deps: { ids: Ids }, cause: Pick<Cause, "operation">, kind: string): string =>
  cause.operation === undefined ? deps.ids.uuid() : derivedId(kind, cause.operation);

export const isUuid = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** A contact is its workspace's, and its address's. */
export const contactId = (workspaceId: string, email: string): string =>
  derivedId("contact", workspaceId, email.toLowerCase());

/** The sandbox domain stands in every workspace under an id of its own (decisions 7). */
export const sandboxDomainId = (workspaceId: string): string => derivedId("sandbox-domain", workspaceId);
