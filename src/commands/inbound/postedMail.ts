import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { MailTransaction, Reception, RemoteClient } from "#src/mail/in/reception.ts";
import { storableLine } from "#src/mail/in/storable.ts";
import { domainOfAddress } from "#src/platform/dns/names.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadName } from "../domains/domainNames.ts";
import { derivedId } from "../ids.ts";
import { isPermanent, reasonOf } from "./filing/failures.ts";
import { createReception } from "./receiveMail.ts";
import { keepStrayMail, strayCause } from "./strayMail.ts";

/** A mail that a provider accepted for this service and then posted to it. */
export type PostedMail = { raw: Buffer; from: string; to: readonly string[]; remote: RemoteClient };

/** A provider's post with one mail. `mail`: the parsed mail, or why it could not be parsed. */
export type ProviderPost = {
  bytes: Buffer;
  contentType: string | undefined;
  /** IP address that sent the post. */
  ip: string;
  mail: PostedMail | { unreadable: string; envelope: { from: string; to: string[] } | null };
};

/** Result of a post. `quarantined`: why it could not be processed. */
export type PostResult = { recipients: number; unknown: number } | { quarantined: string };

/**
 * Receives a provider's posts. The mail's sender was already told that the mail arrived, so no post is refused: each recipient's copy is
 * received as by SMTP; copies for unknown addresses, and posts that cannot be parsed, are stored. Resolves when everything is durable. The
 * same post may arrive again, even concurrently. Throws errors that another try may resolve, and Unavailable for a workspace that has no
 * room.
 */
export function createPostReceiver(
  deps: Dependencies,
  { isFull }: { isFull(workspaceId: string): boolean },
): (post: ProviderPost) => Promise<PostResult> {
  const { resolve, accept } = createReception(deps);
  return async (post) => {
    const { mail } = post;
    if ("unreadable" in mail) return quarantinePost(deps, post, mail);
    try {
      return await deliver(deps, { resolve, accept, isFull }, mail);
    } catch (error) {
      if (!isPermanent(error)) throw error;
      const envelope = { from: line(mail.from), to: mail.to.map(line) };
      return quarantinePost(deps, post, { unreadable: reasonOf(error), envelope });
    }
  };
}

async function deliver(
  deps: Dependencies,
  { resolve, accept, isFull }: Reception & { isFull(workspaceId: string): boolean },
  { raw, from, to, remote }: PostedMail,
): Promise<PostResult> {
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
  { bytes, contentType, ip }: ProviderPost,
  { unreadable: reason, envelope }: Exclude<ProviderPost["mail"], PostedMail>,
): Promise<PostResult> {
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
