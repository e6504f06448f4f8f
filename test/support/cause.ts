import { randomUUID } from "node:crypto";
import type { Cause } from "#src/commands/handle.ts";

const causeOf = (kind: "operator" | "system", workspaceId: string | null): Cause => {
  const id = randomUUID();
  return { actor: { kind, id: "test" }, workspaceId, correlationId: id, causationId: id };
};

/** The cause of a test's commands given as the operator. */
export const operator = (workspaceId: string | null = null): Cause => causeOf("operator", workspaceId);

/** The cause of a test's commands given as a process. */
export const system = (workspaceId: string | null = null): Cause => causeOf("system", workspaceId);
