import type { Decider } from "../decider.ts";
import { invalid } from "../decider.ts";
import type { EmailAddressEvent } from "./events.ts";

export type EmailAddress = { identityId: string | null; lastWorkspaceId: string | null };

export type EmailAddressCommand =
  | {
      type: "ClaimAddress";
      address: string;
      identityId: string;
      workspaceId: string;
      sandbox: boolean;
      /** An identity whose domain is another workspace's now: it has no right to the address any more. */
      displaced?: string | undefined;
    }
  | { type: "ReleaseAddress"; identityId: string };

function decide(command: EmailAddressCommand, address: EmailAddress): EmailAddressEvent[] {
  if (command.type === "ReleaseAddress") {
    if (address.identityId !== command.identityId) return [];
    return [{ type: "AddressReleased", data: { identityId: command.identityId } }];
  }
  if (address.identityId === command.identityId) return [];
  // A sandbox address that one workspace gave up is never another's: late mail for it would reach a stranger.
  const anothers =
    command.sandbox && address.lastWorkspaceId !== null && address.lastWorkspaceId !== command.workspaceId;
  const held = address.identityId !== null && address.identityId !== command.displaced;
  if (held || anothers) {
    throw invalid("local_part", "this address is already in use; choose another", { conflict: true });
  }
  const { identityId, workspaceId } = command;
  return [{ type: "AddressClaimed", data: { address: command.address, identityId, workspaceId } }];
}

export const emailAddressDecider: Decider<EmailAddress, EmailAddressCommand, EmailAddressEvent> = {
  category: "emailAddress",
  initial: { identityId: null, lastWorkspaceId: null },
  evolve: (address, event) =>
    event.type === "AddressClaimed"
      ? { identityId: event.data.identityId, lastWorkspaceId: event.data.workspaceId }
      : { ...address, identityId: null },
  decide,
};
