import type { Actor } from "#streams/event.ts";
import type { InboxEvent } from "#streams/inbox/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { derivedId } from "../ids.ts";

/**
 * A mail for an address without an identity. `workspaceId`: the owner of its verified domain; null if there
 * is none or the mail is for the operator.
 */
export type StrayMailToKeep = Omit<InboxEvent["data"], "workspaceId" | "identityId" | "deliveryId"> & {
  workspaceId: string | null;
};

/** Stores a mail once, even if it arrives several times. */
export async function keepStrayMail(deps: Dependencies, mail: StrayMailToKeep): Promise<void> {
  const { rawSha256, headers, envelope, remote, workspaceId } = mail;
  const deliveryId = derivedId("unknown-recipient", rawSha256, envelope.from, envelope.to);
  const cause = strayCause(deliveryId, { sender: headers.from?.address ?? envelope.from, ip: remote.ip, workspaceId });
  await deps.strayMails.handle(deliveryId, { type: "KeepForNobody", mail: { deliveryId, ...mail } }, cause);
}

export function strayCause(
  deliveryId: string,
  { sender, ip, workspaceId }: { sender: string; ip: string; workspaceId: string | null },
): Cause {
  const actor: Actor = { kind: "sender", id: sender, ip };
  return { actor, workspaceId, correlationId: deliveryId, causationId: deliveryId };
}
