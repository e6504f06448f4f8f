import type { Decider } from "../decider.ts";
import { invalid } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type EmailAddressEvent, emailAddressStream } from "./events.ts";

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
  switch (command.type) {
    case "ClaimAddress":
      return claim(command, address);
    case "ReleaseAddress":
      if (address.identityId !== command.identityId) return [];
      return [{ type: "AddressReleased", data: { identityId: command.identityId } }];
    default:
      return unreachable(command);
  }
}

function claim(
  command: Extract<EmailAddressCommand, { type: "ClaimAddress" }>,
  address: EmailAddress,
): EmailAddressEvent[] {
  if (address.identityId === command.identityId) return [];
  // A sandbox address that one workspace gave up is never another's: late mail for it would reach a stranger.
  const anothers =
    command.sandbox && address.lastWorkspaceId !== null && address.lastWorkspaceId !== command.workspaceId;
  const held = address.identityId !== null && address.identityId !== command.displaced;
  if (held || anothers) {
    throw invalid("local_part", "this address is already in use: choose another local_part", { conflict: true });
  }
  const { identityId, workspaceId } = command;
  return [{ type: "AddressClaimed", data: { address: command.address, identityId, workspaceId } }];
}

function evolve(address: EmailAddress, event: EmailAddressEvent): EmailAddress {
  switch (event.type) {
    case "AddressClaimed":
      return { identityId: event.data.identityId, lastWorkspaceId: event.data.workspaceId };
    case "AddressReleased":
      return { ...address, identityId: null };
    default:
      return unreachable(event);
  }
}

export const emailAddressDecider: Decider<EmailAddress, EmailAddressCommand, EmailAddressEvent> = {
  category: "emailAddress",
  initial: { identityId: null, lastWorkspaceId: null },
  evolve,
  decide,
};

export const emailAddresses = stream({ decider: emailAddressDecider, name: emailAddressStream });
