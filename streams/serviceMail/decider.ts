import type { Decider } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type ServiceMailEvent, serviceMailStream } from "./events.ts";

/** `stopped`: nothing of the workspace's service mail goes to the mailbox any more. */
export type ServiceMail = { stopped: boolean };

export type ServiceMailCommand =
  | { type: "StopServiceMail"; workspaceId: string; address: string }
  | { type: "ResumeServiceMail"; workspaceId: string; address: string };

function decide(command: ServiceMailCommand, { stopped }: ServiceMail): ServiceMailEvent[] {
  const { workspaceId, address } = command;
  switch (command.type) {
    case "StopServiceMail":
      return stopped ? [] : [{ type: "ServiceMailStopped", data: { workspaceId, address } }];
    case "ResumeServiceMail":
      return stopped ? [{ type: "ServiceMailResumed", data: { workspaceId, address } }] : [];
    default:
      return unreachable(command);
  }
}

function evolve(_: ServiceMail, event: ServiceMailEvent): ServiceMail {
  switch (event.type) {
    case "ServiceMailStopped":
      return { stopped: true };
    case "ServiceMailResumed":
      return { stopped: false };
    default:
      return unreachable(event);
  }
}

export const serviceMailDecider: Decider<ServiceMail, ServiceMailCommand, ServiceMailEvent> = {
  category: "serviceMail",
  initial: { stopped: false },
  evolve,
  decide,
};

export const serviceMails = stream({ decider: serviceMailDecider, name: serviceMailStream });
