import { BlobCorrupt } from "#src/blobs/blobs.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { ParsedMail } from "#src/mail/in/parse.ts";
import type { Recorded } from "#streams/event.ts";
import { type InboxEvent, inboxStream } from "#streams/inbox/events.ts";
import type { Dependencies } from "./dependencies.ts";

/** A received mail with what could be read of it. */
export type ReadMail = { event: Recorded<InboxEvent>; parsed: ParsedMail };

/** How long a blob may be missing or wrong before its mail is filed by its headers alone. */
const blobPatienceMs = 10 * 60_000;

/** So many mails of an inbox from a revision on. Throws Unavailable where storage is away. */
export async function readMails(
  deps: Dependencies,
  identityId: string,
  from: number,
  count: number,
): Promise<ReadMail[]> {
  const events = await deps.store.read(inboxStream(identityId), from, count);
  return Promise.all(events.map((event) => readOne(deps, event as unknown as Recorded<InboxEvent>)));
}

/** The mail that stands at this revision of an inbox. */
export async function readMail(deps: Dependencies, identityId: string, revision: number): Promise<ReadMail> {
  const [mail] = await readMails(deps, identityId, revision, 1);
  if (!mail) throw new Error(`inbox-${identityId} has no revision ${revision}`);
  return mail;
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
