import type { DraftEvent } from "#streams/draft/events.ts";
import type { Metadata, Recorded } from "#streams/event.ts";
import { byOf, type GivenApproval } from "./approvals.ts";

/**
 * The newest request for changes, in the approver's words, about the version with this hash. `at`: ISO 8601. `state`: open while the draft
 * waits for the agent; reminded once that took too long; answered by a newer version of an author.
 */
export type ShownChangesRequest = {
  by: GivenApproval["by"];
  text: string;
  at: string;
  version: number;
  content_sha256: string;
  state: "open" | "reminded" | "answered";
};

type ChangesEvent = Extract<DraftEvent, { type: "ChangesRequested" | "ChangesRequestWithdrawn" | "ChangesReminded" }>;

type WaitingRow = { pending_since: string | Date; changes_requested: ShownChangesRequest | null };

/** Returns the request as answered by a new version of an author. */
export const answered = (request: ShownChangesRequest | null): ShownChangesRequest | null =>
  request && { ...request, state: "answered" };

/** Applies an event about a request for changes to a draft's row. */
export function applyChangesRequest<Row extends WaitingRow>(row: Row, event: Recorded<ChangesEvent>): Row {
  const { metadata: meta } = event;
  switch (event.type) {
    case "ChangesRequested": {
      const { text, version, contentSha256: content_sha256 } = event.data;
      const by = byOf(meta.actor);
      return { ...row, changes_requested: { by, text, at: meta.at, version, content_sha256, state: "open" } };
    }
    case "ChangesRequestWithdrawn":
      return { ...afterWait(row, meta), changes_requested: null };
    case "ChangesReminded": {
      const request = row.changes_requested;
      return { ...afterWait(row, meta), changes_requested: request && { ...request, state: "reminded" } };
    }
  }
}

/** Moves the start of the escalation delay on by the time in which the draft waited for changes. */
function afterWait<Row extends WaitingRow>(row: Row, { at }: Metadata): Row {
  if (row.changes_requested?.state !== "open") return row;
  const waitedMs = Date.parse(at) - Date.parse(row.changes_requested.at);
  return { ...row, pending_since: new Date(new Date(row.pending_since).getTime() + waitedMs).toISOString() };
}
