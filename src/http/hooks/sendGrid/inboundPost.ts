import { isIP } from "node:net";
import type { ProviderPost } from "#src/commands/inbound/postedMail.ts";
import { type PostedForm, readForm, UnreadableForm } from "#src/mail/in/postedForm.ts";
import type { RemoteClient } from "#src/mail/in/reception.ts";
import { storableLine } from "#src/mail/in/storable.ts";

/** Characters, as in SMTP. */
const maxAddressLength = 320;
/** SendGrid posts once per recipient; SMTP allows 100 together. */
const maxRecipients = 1_000;
/** Fields that are posted instead of the message if raw mode is off. */
const parsedFields = ["text", "html", "headers"];

type Envelope = { from: string; to: string[] };

/**
 * Reads a post of SendGrid's Inbound Parse in raw mode: the field `email` has the message, `envelope` JSON, and `sender_ip` the address
 * that delivered to SendGrid. If the mail cannot be delivered, returns the reason.
 */
export async function readPost(
  post: Pick<ProviderPost, "bytes" | "contentType" | "ip">,
): Promise<ProviderPost["mail"]> {
  try {
    const form = await readForm(post.bytes, post.contentType);
    const envelope = envelopeOf(form);
    if ("unreadable" in envelope) return { ...envelope, envelope: null };
    const email = only(form, "email");
    if ("unreadable" in email) return { unreadable: inWords(form, email.unreadable), envelope };
    const remote = remoteOf(form, post.ip);
    if ("unreadable" in remote) return { ...remote, envelope };
    return { raw: email.value, ...envelope, remote };
  } catch (error) {
    if (!(error instanceof UnreadableForm)) throw error;
    return { unreadable: `the post cannot be read: ${error.message}`, envelope: null };
  }
}

const inWords = (form: PostedForm, why: string): string =>
  parsedFields.some((field) => form.has(field))
    ? `${why}: SendGrid posts parsed mail instead of the original; switch on "POST the raw, full MIME message" (send_raw) in its Inbound Parse setting`
    : why;

function only(form: PostedForm, name: string): { value: Buffer } | { unreadable: string } {
  const [value, ...more] = form.get(name) ?? [];
  if (!value) return { unreadable: `the post has no field ${name}` };
  return more.length > 0 ? { unreadable: `the post has more than one field ${name}` } : { value };
}

function envelopeOf(form: PostedForm): Envelope | { unreadable: string } {
  const field = only(form, "envelope");
  if ("unreadable" in field) return field;
  const { from = "", to } = asObject(field.value);
  if (
    !Array.isArray(to) ||
    to.length === 0 ||
    typeof from !== "string" ||
    !to.every((each) => typeof each === "string")
  )
    return { unreadable: "the post's field envelope names no recipients" };
  if (to.length > maxRecipients) return { unreadable: `the post's envelope has more than ${maxRecipients} recipients` };
  return { from: addressIn(from), to: to.map(addressIn) };
}

function asObject(value: Buffer): { from?: unknown; to?: unknown } {
  try {
    return Object(JSON.parse(value.toString()));
  } catch {
    return {};
  }
}

/** An address without angle brackets, as storable text; an invalid one is kept, because it matches no identity. */
const addressIn = (text: string): string => storableLine(text.trim().replace(/^<(.*)>$/, "$1"), maxAddressLength);

/**
 * The server that delivered to SendGrid. If unknown, the remote is marked as a relay: SPF of SendGrid's servers proves nothing about the
 * sender.
 */
function remoteOf(form: PostedForm, ip: string): RemoteClient | { unreadable: string } {
  const field = form.has("sender_ip") ? only(form, "sender_ip") : { value: Buffer.alloc(0) };
  if ("unreadable" in field) return field;
  const sender = field.value.toString("latin1").trim();
  return isIP(sender) === 0 ? { ip, helo: "", relay: true } : { ip: sender, helo: "" };
}
