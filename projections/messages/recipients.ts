import type { DeliveryReport } from "#streams/delivery/events.ts";
import { type RecipientStatus, reportedStatus } from "#streams/delivery/recipients.ts";
import type { Recorded } from "#streams/event.ts";
import type { ProjectorTx } from "../projection.ts";
import { jsonRows } from "../rows.ts";

/** What was reported of a recipient of a mail of ours. `address`: as the mail has it. */
export type ReportedOfRecipient = {
  address: string;
  status: RecipientStatus;
  code: string | null;
  text: string | null;
  at: string;
};

/** By address in lower case. */
export type ReportedRecipients = Record<string, ReportedOfRecipient>;

/** Returns what an event reports of single recipients of a draft's mail; undefined if nothing. */
export function recipientsIn({
  type,
  data,
  metadata,
}: Recorded): { draftId: string; of: ReportedRecipients } | undefined {
  const status = reportedStatus(type);
  const { draftId, recipients = [] } = data as Partial<DeliveryReport>;
  if (status === undefined || draftId === undefined || recipients.length === 0) return undefined;
  const entries = recipients.map(({ address, code, text }) => {
    const said: ReportedOfRecipient = { address, status, code, text, at: metadata.at };
    return [address.toLowerCase(), said] as const;
  });
  return { draftId, of: Object.fromEntries(entries) };
}

/** Adds what these events report of single recipients. */
export function writeRecipients(tx: ProjectorTx, events: readonly Recorded[]): void {
  const byDraft = new Map<string, ReportedRecipients>();
  for (const event of events) {
    const reported = recipientsIn(event);
    if (reported) byDraft.set(reported.draftId, { ...byDraft.get(reported.draftId), ...reported.of });
  }
  if (byDraft.size === 0) return;
  tx.write(
    `update messages set recipients = (messages.recipients::jsonb || r.recipients)::json
     from json_to_recordset($1::json) as r (draft_id uuid, recipients jsonb) where messages.draft_id = r.draft_id`,
    [jsonRows([...byDraft].map(([draft_id, recipients]) => ({ draft_id, recipients })))],
  );
}
