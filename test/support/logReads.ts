import type { Tx } from "#projections/projection.ts";
import type { Reads } from "#projections/reads.ts";
import { fold } from "#streams/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import { categoryOf, idOf, type Recorded } from "#streams/event.ts";
import type { FilingDecision, FilingEvent } from "#streams/filing/events.ts";

/** Read models computed from a log at each query: the messages and the open drafts, as far as the send path reads them. */
export function logReads(log: { readonly all: readonly Recorded[] }): Reads {
  const streamsOf = (category: string): string[] => [
    ...new Set(log.all.map(({ stream }) => stream).filter((stream) => categoryOf(stream) === category)),
  ];
  const eventsOf = (stream: string) => log.all.filter((event) => event.stream === stream);

  function messages(id: unknown) {
    const received = log.all.findLast(({ type, data }) => type === "MessageReceived" && data.messageId === id);
    if (!received) return [];
    const { receivedAt, identityId, number, classification, from, to, cc, replyTo, subject, body, bodyBlob } =
      received.data as any;
    const told = log.all.findLast(({ type, data }) => type === "MessageAuthenticated" && data.messageId === id);
    return [
      {
        ...{
          id,
          workspace_id: received.metadata.workspaceId,
          identity_id: identityId,
          thread_id: idOf(received.stream),
        },
        ...{ direction: "inbound", filing_number: number, classification, from_email: from?.address ?? "" },
        ...{ to_emails: to, cc_emails: cc, reply_to: replyTo, subject, body_text: body?.text ?? null },
        ...{ from_name: from?.name || null, bcc_emails: [], body_html: body?.html ?? null, attachments: [] },
        ...{ extracted_text: body?.extracted ?? null, received_at: new Date(receivedAt), quarantined: false },
        ...{ created_at: new Date(receivedAt) },
        ...{ placed_on: idOf(received.stream), placed_at: received.revision },
        ...{ body_blob: bodyBlob, authentication: told?.data.authentication ?? null, from_blocked_contact: false },
        notes: [],
      },
    ];
  }

  const allDrafts = () =>
    streamsOf("draft").map((stream) => ({ id: idOf(stream), draft: fold(draftDecider, eventsOf(stream) as never[]) }));
  const drafts = (identityId: unknown, statuses: readonly string[]) =>
    allDrafts().filter(({ draft }) => draft.identityId === identityId && statuses.includes(draft.status));
  const heldDrafts = (code: unknown) =>
    allDrafts().filter(({ draft }) => draft.status === "approved" && draft.held === code);

  /** Returns the filings for a query: an identity's quarantined mail, or the repeated deliveries of a message. */
  function inbound(sql: string, [, about, above]: readonly unknown[]) {
    const filings = log.all.filter(({ stream }) => categoryOf(stream) === "filing") as Recorded<FilingEvent>[];
    const decisions = filings.filter((event) => event.type === "FilingDecided");
    if (sql.includes("= 'duplicate'"))
      return decisions
        .filter(({ data }) => data.disposition === "duplicate" && data.messageId === about)
        .map(({ data }) => ({ id: data.deliveryId }));
    return filings
      .filter(({ stream }) => idOf(stream) === about)
      .filter(
        ({ type, data }) =>
          type === "MailQuarantined" || (type === "FilingDecided" && data.disposition === "quarantined"),
      )
      .map(({ data, revision }) => {
        const { number } = data as FilingDecision;
        const decision = decisions.find((each) => each.data.number === number)?.data;
        return {
          ...{ id: decision?.deliveryId, message_id: decision?.messageId },
          ...{ filing_number: number, filing_revision: revision },
        };
      })
      .filter(({ filing_number }) => filing_number > (above as number));
  }

  const tx: Tx = {
    query: async (sql: string, values: readonly unknown[] = []) => {
      // The world has one mailbox, so no other one answers its mail.
      if (/\bchain_messages\b/.test(sql)) return { rows: [], rowCount: 0 };
      const rows = / from messages\b/.test(sql)
        ? messages(values[1])
        : /\bheld_code =/.test(sql)
          ? heldDrafts(values[1])
          : / from drafts\b/.test(sql)
            ? drafts(values[1], values[2] as string[])
            : /disposition = '(duplicate|quarantined)'/.test(sql)
              ? inbound(sql, values)
              : [];
      return { rows: rows as never[], rowCount: rows.length };
    },
  };
  const snapshot: Reads["snapshot"] = (_, ask) => ask(reads);
  const reads: Reads = { of: () => tx, snapshot, ofNone: tx, ofAll: tx };
  return reads;
}
