import type { Decider } from "../decider.ts";
import { invalidRequest, type Rejected } from "../decider.ts";
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
      /** The present holder, if its domain belongs to another workspace now: it has no right to the address any more. */
      displaced?: string | undefined;
    }
  | { type: "ReleaseAddress"; identityId: string }
  /** Keeps a sandbox address for the workspace that claims it with a tag. */
  | { type: "ReserveAddress"; workspaceId: string };

function decide(command: EmailAddressCommand, address: EmailAddress): EmailAddressEvent[] {
  switch (command.type) {
    case "ClaimAddress":
      return claim(command, address);
    case "ReleaseAddress":
      if (address.identityId !== command.identityId) return [];
      return [{ type: "AddressReleased", data: { identityId: command.identityId } }];
    case "ReserveAddress":
      if (isAnothers(command, address)) throw addressInUse();
      return address.lastWorkspaceId === null
        ? [{ type: "AddressReserved", data: { workspaceId: command.workspaceId } }]
        : [];
    default:
      return unreachable(command);
  }
}

function claim(
  command: Extract<EmailAddressCommand, { type: "ClaimAddress" }>,
  address: EmailAddress,
): EmailAddressEvent[] {
  if (address.identityId === command.identityId) return [];
  // A sandbox address that one workspace released is never given to another: late mail for it would reach a stranger.
  const held = address.identityId !== null && address.identityId !== command.displaced;
  if (held || (command.sandbox && isAnothers(command, address))) throw addressInUse();
  const { identityId, workspaceId } = command;
  return [{ type: "AddressClaimed", data: { address: command.address, identityId, workspaceId } }];
}

const isAnothers = ({ workspaceId }: { workspaceId: string }, { lastWorkspaceId }: EmailAddress): boolean =>
  lastWorkspaceId !== null && lastWorkspaceId !== workspaceId;

export const addressInUse = (): Rejected =>
  invalidRequest("local_part", "this address is already in use: choose another local_part", { conflict: true });

function evolve(address: EmailAddress, event: EmailAddressEvent): EmailAddress {
  switch (event.type) {
    case "AddressClaimed":
      return { identityId: event.data.identityId, lastWorkspaceId: event.data.workspaceId };
    case "AddressReleased":
      return { ...address, identityId: null };
    case "AddressReserved":
      return { ...address, lastWorkspaceId: event.data.workspaceId };
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
