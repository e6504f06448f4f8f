import { readEvents, Unavailable } from "#src/eventStore/eventStore.ts";
import { type ParsedMail, unreadableMail } from "#src/mail/in/parsedMail.ts";
import { isSameName } from "#src/mail/in/quotes/writers.ts";
import { BlobCorrupt } from "#src/platform/blobs/blobs.ts";
import type { Recorded } from "#streams/event.ts";
import { type InboxEvent, inboxStream } from "#streams/inbox/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { forgetReadFailures, retryOrQuarantine } from "./filing/repair.ts";

/** A received mail, with those parts that could be read. */
export type ReadMail = {
  event: Recorded<InboxEvent>;
  parsed: ParsedMail;
  /** True if its stored bytes are missing or damaged. */
  isLost?: boolean;
};

/**
 * Milliseconds after a mail's reception during which its filing waits for a missing blob or read model. After that the mail is filed
 * without it.
 */
export const missingBlobPatienceMs = 10 * 60_000;

export type MailReceivedEvent = Recorded<InboxEvent>;

/** Maximum total size in bytes of mails that are read together without waiting for room in memory. A larger mail is read alone. */
const smallBytes = 256 * 1024;

/**
 * Runs `work` once there is room in memory for these mails, which belong to one workspace. Workspaces share the room, so that one that
 * receives very much mail does not delay others.
 */
export function withMemoryFor<T>(
  { mailRoom }: Pick<Dependencies, "mailRoom">,
  received: readonly MailReceivedEvent[],
  work: () => Promise<T>,
): Promise<T> {
  const bytes = bytesOf(received);
  return bytes <= smallBytes ? work() : mailRoom.take(bytes, work, received[0]?.data.workspaceId);
}

const bytesOf = (received: readonly MailReceivedEvent[]): number =>
  received.reduce((sum, { data }) => sum + data.sizeBytes, 0);

/**
 * Returns the first mails that are read together: several small ones, or one large one. Small batches keep a workspace from holding room
 * for some mails while it waits to read others.
 */
export function takeReadBatch(received: readonly MailReceivedEvent[]): MailReceivedEvent[] {
  let bytes = 0;
  const end = received.findIndex(({ data }, index) => {
    bytes += data.sizeBytes;
    return index > 0 && bytes > smallBytes;
  });
  return received.slice(0, end < 0 ? undefined : end);
}

/** Returns mail received by an inbox from a revision on, at most `count`. */
export const readReceived = (
  deps: Pick<Dependencies, "store">,
  identityId: string,
  range: { from: number; count: number },
): Promise<MailReceivedEvent[]> => readEvents<InboxEvent>(deps.store, inboxStream(identityId), range);

/** Returns the event at a revision of an inbox. Throws if there is none. */
export async function readReceivedAt(
  deps: Pick<Dependencies, "store">,
  identityId: string,
  revision: number,
): Promise<MailReceivedEvent> {
  const [received] = await readReceived(deps, identityId, { from: revision, count: 1 });
  if (!received) throw new Error(`inbox-${identityId} has no revision ${revision}`);
  return received;
}

/**
 * Reads a mail. Throws Unavailable if storage is unreachable. Any other failure is thrown a few times; after that the mail is returned as
 * unreadable (filing/repair.ts).
 */
export async function readMail(deps: Dependencies, event: MailReceivedEvent): Promise<ReadMail> {
  try {
    const mail = await readStored(deps, event);
    forgetReadFailures(deps, event);
    return mail;
  } catch (error) {
    return { event, parsed: retryOrQuarantine(deps, event, error) };
  }
}

/**
 * Reads several mails, and returns them by their revision in the inbox. If one fails, rejects only after all have ended, because each
 * counts its own failures.
 */
export async function readMails(
  deps: Dependencies,
  received: readonly MailReceivedEvent[],
): Promise<Map<number, ReadMail>> {
  const reading = received.map((event) => readMail(deps, event));
  await Promise.allSettled(reading);
  return new Map((await Promise.all(reading)).map((mail) => [mail.event.revision, mail]));
}

async function readStored(deps: Dependencies, event: MailReceivedEvent): Promise<ReadMail> {
  const raw = await rawOf(deps, event);
  if (!raw) return { event, parsed: unreadableMail("the stored mail is missing or damaged"), isLost: true };
  const { identityId, rawSha256 } = event.data;
  const about = { turn: identityId, sha256: rawSha256 };
  const parsed = await deps.parser.parse(raw, about);
  if (parsed.writers.length === 0) return { event, parsed };
  // This mail answers one in the identity's name, if any of ours.
  const { displayName: writer } = (await deps.identities.load(identityId)).state;
  const isNamed = parsed.writers.some((name) => isSameName(name, writer));
  return { event, parsed: isNamed ? await deps.parser.parse(raw, { ...about, writer }) : parsed };
}

/**
 * Logs and counts acknowledged mails whose stored bytes are lost. Called once it is recorded that these mails are filed by their headers
 * only.
 */
export function alertLostMail({ log, countLostMail }: Dependencies, mails: Iterable<ReadMail>): void {
  for (const { event, isLost } of mails) {
    if (!isLost) continue;
    const { identityId: identity, deliveryId: delivery, rawSha256: sha256 } = event.data;
    log?.error({ identity, delivery, sha256 }, "the stored bytes of a mail are missing or damaged, quarantining it");
    countLostMail?.();
  }
}

async function rawOf(deps: Dependencies, event: Recorded<InboxEvent>): Promise<Buffer | undefined> {
  const waited = deps.clock.now().getTime() - Date.parse(event.metadata.at);
  try {
    const raw = await deps.blobs.get(event.data.rawSha256);
    if (raw || waited > missingBlobPatienceMs) return raw;
  } catch (error) {
    if (!(error instanceof BlobCorrupt)) throw error;
    if (waited > missingBlobPatienceMs) return undefined;
  }
  throw new Unavailable(`the blob of delivery ${event.data.deliveryId} is not stored yet`);
}
