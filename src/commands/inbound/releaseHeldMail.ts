import { crashPoint } from "#src/platform/crashPoints.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { countInbound } from "../plans/quotas.ts";
import { loadThread } from "../threads/threads.ts";
import { applyFilings } from "./filing/apply.ts";
import { oneAppend, withReadResult } from "./filing/decide.ts";
import { isInfrastructure } from "./filing/failures.ts";
import { fileInbox } from "./filing/fileInbox.ts";
import { receivesNothing } from "./heldMail.ts";
import { type HeldPage, type Marker, oldestHeld } from "./heldMarkers.ts";
import { alertLostMail, type ReadMail, readMail, readTogether, receivedAt, withRoom } from "./readMail.ts";

/** Mails released together. */
const pageSize = 50;

type OfIdentities = { workspaceId: string; identityIds: readonly string[] };
type Held = { identityId: string; marker: Marker };
/** By identity, what was read of its line and is not released yet. */
type Lines = Map<string, HeldPage>;

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
  const lines: Lines = new Map();
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

/** Up to the first that is not counted: one behind it may be, from a filing that was cut off, and waits for its turn. */
function inOrder(markers: readonly Marker[], counted: ReadonlySet<string>): Marker[] {
  const end = markers.findIndex(({ decision }) => !counted.has(decision.deliveryId));
  return markers.slice(0, end < 0 ? undefined : end);
}

/** A line goes on behind what was released. If nothing was, it is read again. */
function step(lines: Lines, identityId: string, released: number): void {
  const line = lines.get(identityId) as HeldPage;
  const last = line.markers[released - 1];
  if (last === undefined) lines.delete(identityId);
  else lines.set(identityId, { ...line, markers: line.markers.slice(released), after: last.decision.number });
}

/** The oldest held mails of identities that receive. */
async function nextHeld(
  deps: Dependencies,
  { identityIds, lines }: { identityIds: readonly string[]; lines: Lines },
  cause: Cause,
): Promise<Held[]> {
  const waiting: Held[] = [];
  for (const identityId of identityIds) {
    if ((await receivesNothing(deps, identityId)) !== null) continue;
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

/** A release is decided only where everything decided before it is in its thread: merges may lead it elsewhere. */
async function finishPending(deps: Dependencies, identityId: string, cause: Cause): Promise<void> {
  const { state: filing } = await deps.filings.load(identityId);
  if (filing.pending.length > 0) await fileInbox(deps, identityId, cause);
}

/** Filings of their own: decided first, then applied like any other. Answers how many were released; the next turn takes the rest. */
async function release(
  deps: Dependencies,
  { workspaceId, identityId, line }: { workspaceId: string; identityId: string; line: HeldPage },
  cause: Cause,
): Promise<number> {
  const { lastNumber } = (await deps.filings.load(identityId)).state;
  const received = await Promise.all(
    line.markers.map(({ decision }) => receivedAt(deps, identityId, decision.inboxRevision)),
  );
  const together = readTogether(received);
  return withRoom(deps, together, async () => {
    const mails = new Map<number, ReadMail>();
    const decisions: FilingDecision[] = [];
    for (const [index, event] of together.entries()) {
      const marker = line.markers[index] as Marker;
      const mail = await readMail(deps, event);
      mails.set(event.revision, mail);
      const threadId = await threadOf(deps, marker.decision);
      decisions.push(releasing(marker, { number: lastNumber + decisions.length + 1, threadId }, mail));
    }
    const page = oneAppend(decisions);
    const command = { type: "DecideRelease", decisions: page, after: line.after } as const;
    const decided = await deps.filings.handle(identityId, command, { ...cause, workspaceId });
    // Something was filed meanwhile, or another one released these: the next turn looks again.
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

/** If its thread cannot be read, the release is applied as far as it can be (filing/apply.ts). */
const threadOf = (deps: Dependencies, { threadId }: FilingDecision): Promise<string> =>
  loadThread(deps, threadId).then(
    (loaded) => loaded.threadId,
    (error: unknown) => {
      if (isInfrastructure(error)) throw error;
      return threadId;
    },
  );

const releasing = (
  { decision, revision }: Marker,
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
