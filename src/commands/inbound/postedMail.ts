import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { MailTransaction, Reception, Remote } from "#src/mail/in/reception.ts";
import { storableLine } from "#src/mail/in/storable.ts";
import { domainOfAddress } from "#src/platform/dns/names.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadName } from "../domains/domainNames.ts";
import { derivedId } from "../ids.ts";
import { isForGood, reasonOf } from "./filing/failures.ts";
import { reception } from "./receiveMail.ts";
import { keepStrayMail, strayCause } from "./strayMail.ts";

/** A mail that a provider accepted for us before it asked. */
export type PostedMail = { raw: Buffer; from: string; to: readonly string[]; remote: Remote };

/** The same as the provider posted it. `mail`: what could be read of it, or why nothing could. */
export type Post = {
  bytes: Buffer;
  contentType: string | undefined;
  /** From which address it was posted. */
  ip: string;
  mail: PostedMail | { unreadable: string; envelope: { from: string; to: string[] } | null };
};

/** What became of a post. `quarantined`: why nothing could be made of it. */
export type Taken = { recipients: number; unknown: number } | { quarantined: string };

/**
 * Takes in what a provider posts. Its sender has been told already that the mail arrived, so nothing is refused: each recipient's copy is
 * received as by SMTP, one for an address that nobody has is kept, and so is a post that nothing can be made of. The function resolves when all of it is
 * durable. The same post may come again, also at the same moment. Throws whatever another try can cure, and Unavailable for a workspace that is full.
 */
export function postedMail(
  deps: Dependencies,
  { isFull }: { isFull(workspaceId: string): boolean },
): (post: Post) => Promise<Taken> {
  const { resolve, accept } = reception(deps);
  return async (post) => {
    const { mail } = post;
    if ("unreadable" in mail) return quarantinePost(deps, post, mail);
    try {
      return await deliver(deps, { resolve, accept, isFull }, mail);
    } catch (error) {
      if (!isForGood(error)) throw error;
      const envelope = { from: line(mail.from), to: mail.to.map(line) };
      return quarantinePost(deps, post, { unreadable: reasonOf(error), envelope });
    }
  };
}

async function deliver(
  deps: Dependencies,
  { resolve, accept, isFull }: Reception & { isFull(workspaceId: string): boolean },
  { raw, from, to, remote }: PostedMail,
): Promise<Taken> {
  const recipients: MailTransaction["recipients"][number][] = [];
  const unknown: string[] = [];
  for (const address of new Set(to)) {
    const recipient = await resolve(address, { anew: true });
    if (recipient?.kind === "identity" && isFull(recipient.workspaceId))
      throw new Unavailable(`workspace ${recipient.workspaceId} holds too much unanswered mail`);
    if (recipient) recipients.push({ recipient, address });
    else unknown.push(address);
  }
  if (recipients.length > 0) await accept({ recipients, from, raw, remote });
  if (unknown.length > 0) await keepForNobody(deps, unknown, { raw, from, remote });
  return { recipients: recipients.length, unknown: unknown.length };
}

async function keepForNobody(
  deps: Dependencies,
  addresses: readonly string[],
  { raw, from, remote }: Omit<PostedMail, "to">,
): Promise<void> {
  const rawSha256 = await deps.blobs.put(raw);
  const headers = await deps.headerReader.read(raw, { rawSha256, envelopeFrom: from });
  for (const to of addresses) {
    const domain = domainOfAddress(to);
    const workspaceId = domain ? ((await loadName(deps, domain)).verified?.workspaceId ?? null) : null;
    const mail = { envelope: { from, to }, remote, rawSha256, sizeBytes: raw.length, headers };
    await keepStrayMail(deps, { ...mail, workspaceId });
  }
}

async function quarantinePost(
  deps: Dependencies,
  { bytes, contentType, ip }: Post,
  { unreadable: reason, envelope }: Exclude<Post["mail"], PostedMail>,
): Promise<Taken> {
  const rawSha256 = await deps.blobs.put(bytes);
  const deliveryId = derivedId("post", rawSha256);
  const post = {
    ...{ deliveryId, reason, rawSha256, sizeBytes: bytes.length, envelope },
    contentType: contentType === undefined ? null : storableLine(contentType, 500),
  };
  const cause = strayCause(deliveryId, { sender: envelope?.from ?? "", ip, workspaceId: null });
  await deps.strayMails.handle(deliveryId, { type: "QuarantinePost", post }, cause);
  return { quarantined: reason };
}

const line = (address: string): string => storableLine(address, 320);
