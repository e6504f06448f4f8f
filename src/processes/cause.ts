import type { Cause } from "#src/commands/handle.ts";
import type { Recorded } from "#streams/event.ts";

/** A process acts because of an event: same correlation, caused by it. */
export const causedBy = (event: Recorded, rule: string): Cause => ({
  actor: { kind: "system", id: rule },
  workspaceId: event.metadata.workspaceId,
  correlationId: event.metadata.correlationId,
  causationId: event.id,
});

/** A timer's cause, which has to be carried in its payload. */
export const causeOfTimer = (payload: Record<string, unknown>, rule: string): Cause => ({
  actor: { kind: "system", id: rule },
  workspaceId: (payload.workspaceId as string) ?? null,
  correlationId: payload.correlationId as string,
  causationId: payload.causationId as string,
});

/** What a timer has to carry so that what it sets in motion stays traceable. */
export const traced = (cause: Cause): Record<string, unknown> => ({
  workspaceId: cause.workspaceId,
  correlationId: cause.correlationId,
  causationId: cause.causationId,
});
