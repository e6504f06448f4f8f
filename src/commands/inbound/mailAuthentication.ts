import { readEvents } from "#src/eventStore/eventStore.ts";
import { unproven } from "#src/mail/in/authentication/authenticator.ts";
import { BlobCorrupt } from "#src/platform/blobs/blobs.ts";
import type { Recorded } from "#streams/event.ts";
import { type InboxEvent, inboxStream } from "#streams/inbox/events.ts";
import { awaitsAuthentication } from "#streams/thread/authentication.ts";
import type { Authentication, InboundMessage, MessagePlace } from "#streams/thread/events.ts";
import { contactOf } from "../contacts.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { contactId } from "../ids.ts";
import { createMemoryRoom } from "../memoryRoom.ts";
import { cachedStates, freshStates } from "../states/loader.ts";
import { commandThread } from "../threads/threads.ts";
import type { OwnAddresses } from "./ownAddresses.ts";

/** A filed mail, and the thread that awaits its authentication. `received`: location of the mail. */
type ToAuthenticate = {
  workspaceId: string;
  threadId: string;
  received: MessagePlace;
  message: InboundMessage;
  isOwnAddress: OwnAddresses;
};

/**
 * Authenticates the sender of a filed mail and records the result on the mail's thread, or on the thread into which that was merged.
 * Repeating it changes nothing. Returns false if too many large mails are being checked; the caller then tries again soon.
 */
export async function authenticateMessage(
  deps: Dependencies,
  { workspaceId, threadId, received, message, isOwnAddress }: ToAuthenticate,
  cause: Cause,
): Promise<boolean> {
  const { number, messageId, identityId, classification, kind, subject } = message;
  if (!(await stillAwaits(deps, threadId, number))) return true;
  const authentication = await authenticationOf(deps, message);
  if (authentication === "no room") return false;
  const fromEmail = message.from?.address ?? null;
  const contact = fromEmail === null ? undefined : await contactOf(deps, workspaceId, fromEmail);
  const fromWorkspace = fromEmail !== null && (await isOwnAddress(workspaceId, fromEmail));
  const authenticated = {
    messageId,
    number,
    identityId,
    classification,
    ...(kind && { kind }),
    fromEmail,
    subject,
    contactId: fromEmail === null ? null : contactId(workspaceId, fromEmail),
    contactStatus: contact?.status ?? "unknown",
    authentication,
    ...(fromWorkspace && { fromWorkspace }),
    received,
  };
  await commandThread(deps, { threadId, command: { type: "AuthenticateMessage", message: authenticated } }, cause);
  return true;
}

/**
 * Returns true if the message still needs a result. Checks the cached state first, because the mail was usually filed by this instance just
 * before, and then a fresh state. If two runs record a result, the thread refuses the second.
 */
async function stillAwaits(deps: Dependencies, threadId: string, number: number): Promise<boolean> {
  const awaits = async ({ threads }: Dependencies) =>
    awaitsAuthentication((await threads.load(threadId)).state, number);
  const loader = freshStates(deps);
  return (await awaits(cachedStates(loader))) || awaits(loader);
}

async function authenticationOf(deps: Dependencies, message: InboundMessage): Promise<Authentication | "no room"> {
  const received = await receptionOf(deps, message);
  if (!received) return unproven;
  const { envelope, remote, headers, sizeBytes } = received.data;
  const sender = { address: headers.from?.address ?? null, fromCount: headers.fromCount };
  const asItCame = async <T>(work: (raw: Buffer) => Promise<T>): Promise<T | undefined> => {
    const raw = await rawOf(deps, message.rawSha256);
    return raw && work(raw);
  };
  const isLarge = sizeBytes > largeBytes;
  const { workspaceId } = received.data;
  const withRaw = <T>(work: (raw: Buffer) => Promise<T>): Promise<T | undefined> =>
    isLarge ? room.take(sizeBytes, () => asItCame(work), workspaceId) : asItCame(work);
  const mail = { withRaw, envelopeFrom: envelope.from, remote, turn: message.identityId };
  const authenticate = () => deps.authenticator.authenticate(mail, sender);
  return isLarge ? (largeAtOnce.takeNow(1, authenticate, workspaceId) ?? "no room") : authenticate();
}

/**
 * Size in bytes above which a mail must wait for room in memory. Mails are not in memory during DNS queries, because the sender controls
 * how long these take.
 */
const largeBytes = 256 * 1024;
const room = createMemoryRoom(64 * 1024 * 1024);
/** Limit on large mails checked concurrently. They have their own limit because they are slow; one workspace gets at most half of it. */
const largeAtOnce = createMemoryRoom(64);

async function rawOf(deps: Dependencies, sha256: string): Promise<Buffer | undefined> {
  try {
    return await deps.blobs.get(sha256);
  } catch (error) {
    if (error instanceof BlobCorrupt) return undefined;
    throw error;
  }
}

/** Returns the event of a mail's reception, with its envelope; undefined if the inbox has another mail at that revision. */
async function receptionOf(
  deps: Dependencies,
  { identityId, inboxRevision, deliveryId }: InboundMessage,
): Promise<Recorded<InboxEvent> | undefined> {
  const only = { from: inboxRevision, count: 1 };
  const [received] = await readEvents<InboxEvent>(deps.store, inboxStream(identityId), only);
  return received?.data.deliveryId === deliveryId ? received : undefined;
}
