import type { WaitingRequest } from "#projections/drafts/queries.ts";
import type { Channels } from "#src/channels/channel.ts";
import { type AbandonedRequests, abandonRequests } from "#src/commands/approvals/abandonBundles.ts";
import { askApprovers } from "#src/commands/approvals/askApprovers.ts";
import { isBundledSoon } from "#src/commands/approvals/bundles.ts";
import { type AskedAlone, sendBundle } from "#src/commands/approvals/sendBundle.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { derivedId } from "#src/commands/ids.ts";
import { requireNotPaused } from "#src/commands/installation.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import { answeredBy } from "#streams/draft/notification.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { retryAfterMs } from "./notificationRetries.ts";
import { isOldNews } from "./oldNews.ts";
import type { HandlerResult, Process, ProcessContext, Timer, WaitForModels } from "./process.ts";

/**
 * Milliseconds from the newest version until the bundle mail is sent, because several drafts of one identity are often submitted within
 * moments.
 */
const quietMs = 10_000;
/** Maximum wait of a request in milliseconds. While many requests are open, the next mail is sent at a full quarter of an hour. */
const latestMs = 15 * 60_000;

type LoneRequest = { draftId: string; slot: AskedAlone["slot"]; since: string; causedBy: string; tries: number };
/** `position`: log position that the read models must have reached before the waiting requests are read. */
type Payload = { position: number } & ({ address: string } | { alone: LoneRequest });

/**
 * Requests that do not get a separate mail (src/commands/approvals/bundles.ts) wait a little; then one mail per mailbox and workspace links
 * to a page that lists them. A single waiting request gets an ordinary approval mail. The read model says which requests wait, so a timer
 * that finds none does nothing, and a repeated timer asks only about requests that reached nobody.
 */
export function askInBundles(deps: Dependencies, channels: Channels): Process {
  const keyOf = ({ metadata, data }: Recorded): string =>
    derivedId("bundle", metadata.workspaceId as string, addressOf(data as ApprovalRequest));

  async function onWaiting(
    event: Recorded<{ type: string; data: ApprovalRequest }>,
    { timers }: ProcessContext,
  ): Promise<void> {
    const payload: Payload = { address: addressOf(event.data), position: event.position };
    const timer = { key: keyOf(event), payload };
    const latest = nextQuarter(deps.clock.now());
    await timers.set({ ...timer, name: `latest ${latest.toISOString()}`, dueAt: latest });
    if (await isBundledSoon(deps, idOf(event.stream))) await timers.set({ ...timer, name: "soon", inMs: quietMs });
  }

  async function onTimer(key: string, payload: Payload, context: ProcessContext): Promise<WaitForModels | undefined> {
    const of = ["drafts", "messages", "identities"] as const;
    if (!(await context.reached(payload.position, of))) return { waitFor: payload.position, of };
    await requireNotPaused(deps);
    if ("alone" in payload) await askAlone(key, payload.alone, context);
    else await askAll(key, payload.address, context);
    return undefined;
  }

  async function askAll(key: string, address: string, context: ProcessContext): Promise<void> {
    const { cause, signal } = context;
    const workspaceId = cause.workspaceId as string;
    const isAlone = ({ since }: WaitingRequest) => isOldNews(deps, since.toISOString());
    const question = { channels, workspaceId, address, pauseAfter: retryAfterMs, isAlone };
    let after: WaitingRequest | undefined;
    do {
      signal.throwIfAborted();
      const { alone, againInMs, next } = await sendBundle(deps, { ...question, after }, cause);
      for (const { since, ...each } of alone) {
        await askAlone(key, { ...each, since: since.toISOString(), tries: 0 }, context);
      }
      if (againInMs !== undefined) await again({ key, name: "again", inMs: againInMs }, { address }, context);
      after = next;
    } while (after !== undefined);
  }

  async function askAlone(key: string, alone: LoneRequest, context: ProcessContext): Promise<void> {
    const { draftId, slot, since, causedBy, tries } = alone;
    const { state: draft } = await deps.drafts.load(draftId);
    if (draft.status !== "pending" || draft.notified.answered.includes(answeredBy(causedBy, slot))) return;
    const inMs = retryAfterMs(tries);
    const question = { channels, draftId, draft, slot, lastTry: inMs === undefined, late: isOldNews(deps, since) };
    const asked = await askApprovers(deps, { ...question, alone: true }, { ...context.cause, causationId: causedBy });
    const pauseMs = asked.again ? (asked.inMs ?? inMs) : undefined;
    if (pauseMs === undefined) return;
    const waited = asked.again && asked.inMs !== undefined;
    const next = { ...alone, tries: waited ? tries : tries + 1 };
    await again({ key, name: `alone ${draftId} ${slot}`, inMs: pauseMs }, { alone: next }, context);
  }

  async function again(
    timer: { key: string; name: string; inMs: number },
    what: { address: string } | { alone: LoneRequest },
    { timers }: ProcessContext,
  ): Promise<void> {
    const payload: Payload = { ...what, position: await deps.store.head() };
    await timers.set({ ...timer, payload });
  }

  return {
    name: "askInBundles",
    categories: ["draft"],
    keyOf,
    concerns: ({ data }) => isWaiting(data as ApprovalRequest),
    on: { ApproversAsked: onWaiting },
    onTimer: ({ key, payload }, context): HandlerResult => onTimer(key, payload as Payload, context),
    // The drafts of a failed item are recorded as not reached, which triggers their escalation. If the item were only parked, only the
    // operator would see it.
    givingUp: (item, { cause }) => abandonRequests(deps, givenUp(item, cause.workspaceId as string), cause),
  };
}

/** Returns true if the request waits for a bundle mail that has not been made yet. */
const isWaiting = ({ bundled, listSha256 }: ApprovalRequest): boolean => bundled === true && listSha256 === undefined;

/** Returns the mailbox of a request in lower case. Only requests by mail are bundled, so the address is a mailbox. */
const addressOf = ({ channel }: ApprovalRequest): string => channel.address.toLowerCase();

/** Returns the requests that the failed event or timer was to make. */
function givenUp(item: Recorded | Timer, workspaceId: string): AbandonedRequests {
  if ("stream" in item) return { draftId: idOf(item.stream), slot: (item.data as ApprovalRequest).channel.slot };
  const payload = item.payload as Payload;
  return "alone" in payload ? payload.alone : { workspaceId, address: payload.address };
}

const nextQuarter = (now: Date): Date => new Date(Math.ceil((now.getTime() + 1) / latestMs) * latestMs);
