import { randomUUID } from "node:crypto";
import type { Cause } from "#src/commands/handle.ts";

const causeOf = (kind: "operator" | "system", workspaceId: string | null): Cause => {
  const id = randomUUID();
  return { actor: { kind, id: "test" }, workspaceId, correlationId: id, causationId: id };
};

/** What a test commands as the operator would. */
export const operator = (workspaceId: string | null = null): Cause => causeOf("operator", workspaceId);

/** What a test commands as a process would. */
export const system = (workspaceId: string | null = null): Cause => causeOf("system", workspaceId);
