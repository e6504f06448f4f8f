import { BlobCorrupt } from "#src/blobs/blobs.ts";
import { crashPoint } from "#src/crashPoints.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { ParsedMail } from "#src/mail/in/parse.ts";
import type { Recorded } from "#streams/event.ts";
import { filingDecider } from "#streams/filing/decider.ts";
import { type FilingDecision, filingStream } from "#streams/filing/events.ts";
import { type InboxEvent, inboxStream } from "#streams/inbox/events.ts";
import type { Dependencies } from "./dependencies.ts";
import { decideFilings } from "./filingDecisions.ts";
import { carryOut } from "./filingOut.ts";
import type { Cause } from "./handle.ts";
import type { ReadMail } from "./readMail.ts";

/** Mails decided and carried out together: one append for all their decisions, one for "filed". */
const pageSize = 50;
/** The decisions of one append, in bytes of JSON: well below what a store takes at once (eventStore.ts), metadata included. */
const maxDecisionBytes = 500_000;
/** How long a blob may be missing or wrong before its mail is filed by its headers alone. */
const blobPatienceMs = 10 * 60_000;

/**
 * Files everything received for an identity: decisions first, then what they say (design: filing). Safe to run twice at once and to be
 * cut off anywhere: whoever comes next carries out what is recorded. Throws Unavailable where storage is away.
 */
export async function fileInbox(deps: Dependencies, identityId: string, cause: Cause): Promise<void> {
  for (;;) {
    const { state: filing } = await deps.load(filingDecider, filingStream(identityId));
    if (filing.pending.length > 0) {
      await finish(deps, identityId, filing.pending, new Map(), cause);
      continue;
    }
    const mails = await readInbox(deps, identityId, filing.decidedUpTo + 1);
    if (mails.length === 0) return;
    const unfiled = mails.map(({ event, parsed }) => ({
      deliveryId: event.data.deliveryId,
      inboxRevision: event.revision,
      inboxPosition: event.position,
      headers: event.data.headers,
      unreadable: parsed.unreadable,
    }));
    const decisions = oneAppend(await decideFilings(deps, identityId, filing.lastNumber, unfiled));
    const command = { type: "DecideFiling", decisions } as const;
    const decided = await deps.handle(filingDecider, filingStream(identityId), command, cause);
    // Another filer was faster: its decisions count, and the next turn carries them out.
    if (!decided.changed) continue;
    crashPoint("filing:decided");
    const byRevision = new Map(mails.map((mail) => [mail.event.revision, mail]));
    await finish(deps, identityId, decisions, byRevision, cause);
  }
}

/** As many of them, from the first, as go into one append: mails that name many others make long decisions. The rest waits for the next turn. */
function oneAppend(decisions: FilingDecision[]): FilingDecision[] {
  let bytes = 0;
  const end = decisions.findIndex((decision, index) => {
    bytes += Buffer.byteLength(JSON.stringify(decision));
    return index > 0 && bytes > maxDecisionBytes;
  });
  return end < 0 ? decisions : decisions.slice(0, end);
}

async function finish(
  deps: Dependencies,
  identityId: string,
  decisions: readonly FilingDecision[],
  mails: Map<number, ReadMail>,
  cause: Cause,
): Promise<void> {
  const readMail = async (decision: FilingDecision): Promise<ReadMail> => {
    const known = mails.get(decision.inboxRevision);
    if (known) return known;
    const [event] = await deps.store.read(inboxStream(identityId), decision.inboxRevision, 1);
    if (!event) throw new Error(`inbox-${identityId} has no revision ${decision.inboxRevision}`);
    return readOne(deps, event as unknown as Recorded<InboxEvent>);
  };
  await carryOut(deps, decisions, readMail, cause);
  const last = decisions.at(-1) as FilingDecision;
  const inboxRevision = Math.max(...decisions.map((decision) => decision.inboxRevision));
  const command = { type: "MarkFiled", number: last.number, inboxRevision } as const;
  await deps.handle(filingDecider, filingStream(identityId), command, cause);
  crashPoint("filing:filed");
}

async function readInbox(deps: Dependencies, identityId: string, from: number): Promise<ReadMail[]> {
  const events = await deps.store.read(inboxStream(identityId), from, pageSize);
  return Promise.all(events.map((event) => readOne(deps, event as unknown as Recorded<InboxEvent>)));
}

async function readOne(deps: Dependencies, event: Recorded<InboxEvent>): Promise<ReadMail> {
  const raw = await rawOf(deps, event);
  return { event, parsed: raw ? await deps.parser.parse(raw) : unreadable("the stored mail is missing or damaged") };
}

async function rawOf(deps: Dependencies, event: Recorded<InboxEvent>): Promise<Buffer | undefined> {
  const waited = deps.clock.now().getTime() - Date.parse(event.metadata.at);
  try {
    const raw = await deps.blobs.get(event.data.rawSha256);
    if (raw || waited > blobPatienceMs) return raw;
  } catch (error) {
    if (!(error instanceof BlobCorrupt)) throw error;
    if (waited > blobPatienceMs) return undefined;
  }
  throw new Unavailable(`the blob of delivery ${event.data.deliveryId} is not there yet`);
}

const unreadable = (reason: string): ParsedMail => ({
  bodyText: null,
  bodyHtml: null,
  extractedText: "",
  attachments: [],
  unreadable: reason,
});
