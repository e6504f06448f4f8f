import { crashPoint } from "#src/crashPoints.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { countInbound } from "../plans/quotas.ts";
import { loadThread } from "../threads/threads.ts";
import { fileInbox, finishFilings, oneAppend } from "./filing.ts";
import { receivesNothing } from "./heldMail.ts";
import { bytesOf, mailRoom, type ReadMail, readMail, readTogether, receivedAt } from "./readMail.ts";

/** Mails released together. */
const pageSize = 50;

type Held = { identityId: string; decision: FilingDecision };
type OfIdentities = { workspaceId: string; identityIds: readonly string[] };

/**
 * Releases held mail of these identities of a workspace, in the order in which it was received, as far as the identities receive and the
 * plan's inbound mails reach. True if the plan left some behind. Safe to run twice at once and to be cut off anywhere: what was counted
 * stays counted, and the next run carries out what was decided.
 */
export async function releaseHeld(
  deps: Dependencies,
  { workspaceId, identityIds }: OfIdentities,
  cause: Cause,
): Promise<boolean> {
  for (;;) {
    const page = await nextHeld(deps, { workspaceId, identityIds }, cause);
    if (page.length === 0) return false;
    const deliveryIds = page.map(({ decision }) => decision.deliveryId);
    const counted = await countInbound(deps, { workspaceId, deliveryIds }, cause);
    let complete = true;
    for (const identityId of new Set(page.map((each) => each.identityId))) {
      const own = page.filter((each) => each.identityId === identityId).map(({ decision }) => decision);
      const held = own.filter(({ deliveryId }) => counted.has(deliveryId));
      if (held.length > 0) complete = (await release(deps, { workspaceId, identityId, held }, cause)) && complete;
    }
    if (complete && counted.size < page.length) return true;
  }
}

/** The oldest held mails of identities that receive. */
async function nextHeld(deps: Dependencies, { identityIds }: OfIdentities, cause: Cause): Promise<Held[]> {
  const waiting: Held[] = [];
  for (const identityId of identityIds) {
    if ((await receivesNothing(deps, identityId)) !== null) continue;
    await finishPending(deps, identityId, cause);
    const { state: filing } = await deps.filings.load(identityId);
    waiting.push(...filing.held.slice(0, pageSize).map((decision) => ({ identityId, decision })));
  }
  return waiting.sort((a, b) => a.decision.inboxPosition - b.decision.inboxPosition).slice(0, pageSize);
}

/** A release is decided only where everything decided before it is in its thread: merges may lead it elsewhere. */
async function finishPending(deps: Dependencies, identityId: string, cause: Cause): Promise<void> {
  const { state: filing } = await deps.filings.load(identityId);
  if (filing.pending.length > 0) await fileInbox(deps, identityId, cause);
}

/** A filing of its own: decided first, then carried out like any other. False if some of them are left for the next turn. */
async function release(
  deps: Dependencies,
  { workspaceId, identityId, held }: { workspaceId: string; identityId: string; held: readonly FilingDecision[] },
  cause: Cause,
): Promise<boolean> {
  const { state: filing } = await deps.filings.load(identityId);
  const received = await Promise.all(held.map((marker) => receivedAt(deps, identityId, marker.inboxRevision)));
  const together = readTogether(received);
  return mailRoom.take(bytesOf(together), async () => {
    const mails = new Map<number, ReadMail>();
    const decisions: FilingDecision[] = [];
    for (const [index, event] of together.entries()) {
      const marker = held[index] as FilingDecision;
      const mail = await readMail(deps, event);
      mails.set(event.revision, mail);
      const { threadId } = await loadThread(deps, marker.threadId);
      const number = filing.lastNumber + decisions.length + 1;
      decisions.push(releasing(marker, { number, threadId }, mail));
    }
    const page = oneAppend(decisions);
    const command = { type: "DecideRelease", decisions: page } as const;
    const decided = await deps.filings.handle(identityId, command, { ...cause, workspaceId });
    // Something was filed meanwhile, or another one released these: the next turn looks again.
    if (!decided.changed) return false;
    crashPoint("filing:decided");
    await finishFilings(deps, { identityId, decisions: page, mails }, cause);
    return page.length === held.length;
  });
}

const releasing = (
  marker: FilingDecision,
  { number, threadId }: Pick<FilingDecision, "number" | "threadId">,
  { parsed }: ReadMail,
): FilingDecision => ({
  ...marker,
  number,
  threadId,
  disposition: parsed.unreadable === null ? "threaded" : "quarantined",
  reason: parsed.unreadable,
  opensThread: false,
  absorbs: [],
  chainIds: [],
  bouncedAttemptId: null,
  releases: marker.number,
});
