import type { Decider } from "../decider.ts";
import { invalidRequest, Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type DomainNameEvent, domainNameStream } from "./events.ts";

export type DomainName = {
  /** Id of the domain that has the name in each workspace, by workspace. */
  registered: Readonly<Record<string, string>>;
  verified: { domainId: string; workspaceId: string; receives: boolean } | null;
};

export type DomainNameCommand =
  /** `gone`: a domain known to be deleted, or never created. */
  | { type: "RegisterName"; name: string; domainId: string; workspaceId: string; gone: string | null }
  | { type: "ClaimName"; domainId: string; workspaceId: string; receives: boolean }
  | { type: "LoseName"; domainId: string }
  | { type: "ReleaseName"; domainId: string };

const conflict = (sentence: string): Rejected => invalidRequest("domain_name", sentence, { conflict: true });

function decide(command: DomainNameCommand, { registered, verified }: DomainName): DomainNameEvent[] {
  const { domainId } = command;
  switch (command.type) {
    case "RegisterName": {
      const { name, workspaceId, gone } = command;
      if (verified !== null && verified.workspaceId !== workspaceId) {
        throw conflict("this domain is verified in another workspace");
      }
      const held = registered[workspaceId];
      if (held === domainId) return [];
      if (held !== undefined && held !== gone) {
        throw conflict("this domain is already in this workspace: use it, or delete it first");
      }
      return [{ type: "NameRegistered", data: { name, domainId, workspaceId } }];
    }
    case "ClaimName": {
      const { workspaceId, receives } = command;
      if (verified?.domainId === domainId) return [];
      if (verified !== null || registered[workspaceId] !== domainId) {
        throw new Rejected("invalid_request", "this domain is verified in another workspace", { conflict: true });
      }
      return [{ type: "NameVerified", data: { domainId, workspaceId, receives } }];
    }
    case "LoseName":
      return verified?.domainId === domainId ? [{ type: "NameLost", data: { domainId } }] : [];
    case "ReleaseName":
      return Object.values(registered).includes(domainId) ? [{ type: "NameReleased", data: { domainId } }] : [];
    default:
      return unreachable(command);
  }
}

function evolve(name: DomainName, event: DomainNameEvent): DomainName {
  const { domainId } = event.data;
  const without = name.verified?.domainId === domainId ? null : name.verified;
  switch (event.type) {
    case "NameRegistered": {
      const { workspaceId } = event.data;
      // The workspace's former domain of this name is gone, with everything it had proven.
      const verified = name.verified?.workspaceId === workspaceId ? null : name.verified;
      return { verified, registered: { ...name.registered, [workspaceId]: domainId } };
    }
    case "NameVerified": {
      const { workspaceId, receives } = event.data;
      return { ...name, verified: { domainId, workspaceId, receives } };
    }
    case "NameLost":
      return { ...name, verified: without };
    case "NameReleased":
      return { verified: without, registered: registeredWithout(name.registered, domainId) };
    default:
      return unreachable(event);
  }
}

const registeredWithout = (registered: DomainName["registered"], domainId: string): DomainName["registered"] =>
  Object.fromEntries(Object.entries(registered).filter(([, id]) => id !== domainId));

export const domainNameDecider: Decider<DomainName, DomainNameCommand, DomainNameEvent> = {
  category: "domainName",
  initial: { registered: {}, verified: null },
  evolve,
  decide,
};

export const domainNames = stream({ decider: domainNameDecider, name: domainNameStream });
