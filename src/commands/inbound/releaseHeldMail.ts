import { crashPoint } from "#src/platform/crashPoints.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { countInbound } from "../plans/quotas.ts";
import { loadThread } from "../threads/threads.ts";
import { applyFilings } from "./filing/apply.ts";
import { takeForOneAppend, withReadResult } from "./filing/decide.ts";
import { isInfrastructure } from "./filing/failures.ts";
import { fileInbox } from "./filing/fileInbox.ts";
import { whyMailIsHeld } from "./heldMail.ts";
import { type HeldMarker, type HeldPage, oldestHeld } from "./heldMarkers.ts";
import { alertLostMail, type ReadMail, readMail, readReceivedAt, takeReadBatch, withMemoryFor } from "./readMail.ts";

/** Mails released in one step. */
const pageSize = 50;

type OfIdentities = { workspaceId: string; identityIds: readonly string[] };
type HeldMail = { identityId: string; marker: HeldMarker };
/** Held mails that were read but are not released yet, by identity. */
type HeldQueues = Map<string, HeldPage>;

/**
 * Releases held mail of these identities of one workspace in the order of reception, as far as the identities receive mail and the plan's
 * inbound quota suffices. Returns true if some mail stays held for lack of quota. Safe to run twice concurrently and to interrupt anywhere,
 * because mail stays counted and the next run applies recorded decisions.
 */
export async function releaseHeld(
  deps: Dependencies,
  { workspaceId, identityIds }: OfIdentities,
  cause: Cause,
): Promise<boolean> {
  const lines: HeldQueues = new Map();
  for (;;) {
    const page = await nextHeld(deps, { identityIds, lines }, cause);
    if (page.length === 0) return false;
    const deliveryIds = page.map(({ marker }) => marker.decision.deliveryId);
    const counted = await countInbound(deps, { workspaceId, deliveryIds }, cause);
    let complete = true;
    for (const identityId of new Set(page.map((each) => each.identityId))) {
      const own = page.filter((each) => each.identityId === identityId).map(({ marker }) => marker);
      const markers = inOrder(own, counted);
      const line = { ...(lines.get(identityId) as HeldPage), markers };
      const released = markers.length > 0 ? await release(deps, { workspaceId, identityId, line }, cause) : 0;
      complete = released === markers.length && complete;
      step(lines, identityId, released);
    }
    if (complete && counted.size < page.length) return true;
  }
}

/**
 * Returns the mails before the first one that the quota does not count. Later mails wait for their turn, even if an interrupted filing has
 * counted them.
 */
function inOrder(markers: readonly HeldMarker[], counted: ReadonlySet<string>): HeldMarker[] {
  const end = markers.findIndex(({ decision }) => !counted.has(decision.deliveryId));
  return markers.slice(0, end < 0 ? undefined : end);
}

/** Removes the released mails from an identity's queue. If none was released, drops the queue, so that it is read again. */
function step(lines: HeldQueues, identityId: string, released: number): void {
  const line = lines.get(identityId) as HeldPage;
  const last = line.markers[released - 1];
  if (last === undefined) lines.delete(identityId);
  else lines.set(identityId, { ...line, markers: line.markers.slice(released), after: last.decision.number });
}

/** Returns the longest held mails of those identities that receive mail. */
async function nextHeld(
  deps: Dependencies,
  { identityIds, lines }: { identityIds: readonly string[]; lines: HeldQueues },
  cause: Cause,
): Promise<HeldMail[]> {
  const waiting: HeldMail[] = [];
  for (const identityId of identityIds) {
    if ((await whyMailIsHeld(deps, identityId)) !== null) continue;
    const known = lines.get(identityId);
    const line = known && known.markers.length > 0 ? known : await readLine(deps, identityId, cause);
    lines.set(identityId, line);
    waiting.push(...line.markers.map((marker) => ({ identityId, marker })));
  }
  return waiting.sort((a, b) => a.marker.decision.inboxPosition - b.marker.decision.inboxPosition).slice(0, pageSize);
}

async function readLine(deps: Dependencies, identityId: string, cause: Cause): Promise<HeldPage> {
  await finishPending(deps, identityId, cause);
  const { state: filing } = await deps.filings.load(identityId);
  return oldestHeld(deps, { identityId, filing }, pageSize);
}

/** Completes earlier filings first, because their merges may change the thread of a released mail. */
async function finishPending(deps: Dependencies, identityId: string, cause: Cause): Promise<void> {
  const { state: filing } = await deps.filings.load(identityId);
  if (filing.pending.length > 0) await fileInbox(deps, identityId, cause);
}

/**
 * Releases mails by new filing decisions, which are recorded and then applied like any other. Returns how many mails were released; the
 * next turn releases the rest.
 */
async function release(
  deps: Dependencies,
  { workspaceId, identityId, line }: { workspaceId: string; identityId: string; line: HeldPage },
  cause: Cause,
): Promise<number> {
  const { lastNumber } = (await deps.filings.load(identityId)).state;
  const received = await Promise.all(
    line.markers.map(({ decision }) => readReceivedAt(deps, identityId, decision.inboxRevision)),
  );
  const together = takeReadBatch(received);
  return withMemoryFor(deps, together, async () => {
    const mails = new Map<number, ReadMail>();
    const decisions: FilingDecision[] = [];
    for (const [index, event] of together.entries()) {
      const marker = line.markers[index] as HeldMarker;
      const mail = await readMail(deps, event);
      mails.set(event.revision, mail);
      const threadId = await threadOf(deps, marker.decision);
      decisions.push(releasing(marker, { number: lastNumber + decisions.length + 1, threadId }, mail));
    }
    const page = takeForOneAppend(decisions);
    const command = { type: "DecideRelease", decisions: page, after: line.after } as const;
    const decided = await deps.filings.handle(identityId, command, { ...cause, workspaceId });
    // A mail was filed meanwhile, or another run released these: the next turn reads the queue again.
    if (!decided.changed) return 0;
    const released = new Set(page.map(({ inboxRevision }) => inboxRevision));
    alertLostMail(
      deps,
      [...mails.values()].filter(({ event }) => released.has(event.revision)),
    );
    crashPoint("filing:decided");
    await applyFilings(deps, { identityId, decisions: page, mails }, cause);
    return page.length;
  });
}

/**
 * Returns the present thread of a mail. If the thread cannot be read, the mail's recorded thread is used, and the release is applied as far
 * as possible (filing/apply.ts).
 */
const threadOf = (deps: Dependencies, { threadId }: FilingDecision): Promise<string> =>
  loadThread(deps, threadId).then(
    (loaded) => loaded.threadId,
    (error: unknown) => {
      if (isInfrastructure(error)) throw error;
      return threadId;
    },
  );

const releasing = (
  { decision, revision }: HeldMarker,
  { number, threadId }: Pick<FilingDecision, "number" | "threadId">,
  mail: ReadMail,
): FilingDecision => ({
  ...withReadResult(decision, mail),
  number,
  threadId,
  opensThread: false,
  absorbs: [],
  chainIds: [],
  bouncedAttemptId: null,
  releases: { number: decision.number, revision },
});
