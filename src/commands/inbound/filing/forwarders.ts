import { areAlsoIn, type BesideLines } from "#src/mail/in/text/besideLines.ts";
import { domainOfAddress } from "#src/platform/dns/names.ts";
import type { InboxEvent } from "#streams/inbox/events.ts";
import type { Dependencies } from "../../dependencies.ts";
import { type MailReceivedEvent, readMail, readReceived, withMemoryFor } from "../readMail.ts";

/** Lines of a form that are looked for in earlier mail, at most: a forwarder adds a few. */
const maxLines = 20;
/** Mails before this one among which the forwarder's are sought, and how many of those are read. */
const lookedThrough = 100;
const maxRead = 5;
/** Bytes of such a mail, at most: a short one shows what a forwarder adds as well as a long one. */
const maxBytes = 256 * 1024;

/**
 * True if the forwarder of a mail put the lines beside each of its forms into another mail too, at the same end, beside other words and in
 * the name of another sender. So the lines are the forwarder's and nobody's word about this mail.
 */
export async function areForwarders(
  deps: Dependencies,
  mail: MailReceivedEvent,
  forms: readonly BesideLines[],
): Promise<boolean> {
  let above = forms.filter((lines) => lines.above.length > 0);
  let below = forms.filter((lines) => lines.below.length > 0);
  const isOver = (): boolean => above.length + below.length === 0;
  if (isOver()) return true;
  if (forms.some((lines) => lines.above.length + lines.below.length > maxLines)) return false;
  for (const other of await earlierOfForwarder(deps, mail)) {
    const { parsed } = await withMemoryFor(deps, [other], () => readMail(deps, other));
    const text = parsed.bodyText ?? "";
    above = above.filter((lines) => !areAlsoIn(text, lines).above);
    below = below.filter((lines) => !areAlsoIn(text, lines).below);
    if (isOver()) return true;
  }
  return false;
}

/**
 * Returns earlier mail of other senders that came the same way, the newest first. Mail under our own Message-IDs does not count: words that
 * somebody put into one copy would hide the same words in the next.
 */
async function earlierOfForwarder(deps: Dependencies, mail: MailReceivedEvent): Promise<MailReceivedEvent[]> {
  const from = Math.max(0, mail.revision - lookedThrough);
  const earlier = await readReceived(deps, mail.data.identityId, { from, count: mail.revision - from });
  const sender = mail.data.headers.from?.address.toLowerCase();
  return earlier
    .filter(
      ({ data }) =>
        data.sizeBytes <= maxBytes &&
        data.headers.from?.address.toLowerCase() !== sender &&
        deps.messageIds.open(data.headers.messageId) === undefined &&
        cameTheSameWay(data, mail.data),
    )
    .reverse()
    .slice(0, maxRead);
}

type Mail = InboxEvent["data"];

/** True if both mails were forwarded from the same address, or have the same envelope sender or one of the same forwarder's domain. */
function cameTheSameWay(one: Mail, other: Mail): boolean {
  const own = [one.envelope.to, other.envelope.to].map((address) => address.toLowerCase());
  const forwarders = (one.headers.forwardedFrom ?? []).filter((address) => !own.includes(address));
  if (forwarders.some((address) => other.headers.forwardedFrom?.includes(address))) return true;
  const [sender, otherSender] = [one, other].map(({ envelope }) => envelope.from.toLowerCase());
  if (sender !== "" && sender === otherSender && !own.includes(sender!)) return true;
  const [domain, otherDomain] = [one, other].map(rewrittenDomain);
  return domain !== undefined && domain === otherDomain;
}

/** Returns the domain of a forwarder that put its own address into the envelope; undefined if it is that of the mail's sender. */
function rewrittenDomain({ envelope, headers }: Mail): string | undefined {
  const domain = domainOfAddress(envelope.from);
  return domain === "" || domain === domainOfAddress(headers.from?.address ?? "") ? undefined : domain;
}
