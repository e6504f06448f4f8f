import type { Decider } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type ServiceMailEvent, serviceMailStream } from "./events.ts";

/**
 * `stopped`: the mailbox gets no more notification mail of the workspace. `series`: that of the valid links. `requestedAt`: time (ISO) of
 * the last request for a new link.
 */
export type ServiceMail = { stopped: boolean; series: number; requestedAt: string | null };

export type ServiceMailCommand =
  | { type: "StopServiceMail"; workspaceId: string; address: string }
  | { type: "ResumeServiceMail"; workspaceId: string; address: string }
  /** Closes the links of this series, one of which has leaked. */
  | { type: "CloseStopLinks"; workspaceId: string; address: string; series: number }
  | { type: "RequestStopLink"; workspaceId: string; address: string; at: string };

/** Milliseconds between two mails with a new link: anyone with an old link may request one. */
const betweenRequestsMs = 3_600_000;

function decide(command: ServiceMailCommand, { stopped, series, requestedAt }: ServiceMail): ServiceMailEvent[] {
  const { workspaceId, address } = command;
  switch (command.type) {
    case "StopServiceMail":
      return stopped ? [] : [{ type: "ServiceMailStopped", data: { workspaceId, address } }];
    case "ResumeServiceMail":
      return stopped ? [{ type: "ServiceMailResumed", data: { workspaceId, address } }] : [];
    case "CloseStopLinks":
      if (command.series !== series) return [];
      return [{ type: "StopLinksClosed", data: { workspaceId, address, because: "link_leaked" } }];
    case "RequestStopLink": {
      const { at } = command;
      if (requestedAt !== null && Date.parse(at) - Date.parse(requestedAt) < betweenRequestsMs) return [];
      return [{ type: "StopLinkRequested", data: { workspaceId, address, at } }];
    }
    default:
      return unreachable(command);
  }
}

function evolve(mail: ServiceMail, event: ServiceMailEvent): ServiceMail {
  switch (event.type) {
    case "ServiceMailStopped":
      return { ...mail, stopped: true };
    case "ServiceMailResumed":
      return { ...mail, stopped: false };
    case "StopLinksClosed":
      return { ...mail, series: mail.series + 1 };
    case "StopLinkRequested":
      return { ...mail, requestedAt: event.data.at };
    default:
      return unreachable(event);
  }
}

export const serviceMailDecider: Decider<ServiceMail, ServiceMailCommand, ServiceMailEvent> = {
  category: "serviceMail",
  initial: { stopped: false, series: 0, requestedAt: null },
  evolve,
  decide,
};

export const serviceMails = stream({ decider: serviceMailDecider, name: serviceMailStream });
