import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type ProcessorCustomerEvent, processorCustomerStream } from "./events.ts";

/** `noticed`: ids of the processor's latest events. A forgotten one may be recorded again, without new consequences. */
export type ProcessorCustomer = { workspaceId: string | null; noticed: readonly string[] };

export type ProcessorCustomerCommand =
  | { type: "LinkCustomer"; workspaceId: string }
  | { type: "NoticeEvent"; eventId: string; eventType: string; happenedAt: string };

const initial: ProcessorCustomer = { workspaceId: null, noticed: [] };

/** Number of ids remembered: far more than one customer has in three days, the time for which the processor repeats events. */
const remembered = 200;

function evolve(customer: ProcessorCustomer, event: ProcessorCustomerEvent): ProcessorCustomer {
  switch (event.type) {
    case "CustomerLinked":
      return { ...customer, workspaceId: event.data.workspaceId };
    case "ProcessorEventNoticed":
      return { ...customer, noticed: [...customer.noticed, event.data.eventId].slice(-remembered) };
    default:
      return unreachable(event);
  }
}

function decide(command: ProcessorCustomerCommand, customer: ProcessorCustomer): ProcessorCustomerEvent[] {
  const { workspaceId } = customer;
  switch (command.type) {
    case "LinkCustomer":
      if (workspaceId === command.workspaceId) return [];
      if (workspaceId !== null) throw new Rejected("not_found", "this customer belongs to another workspace");
      return [{ type: "CustomerLinked", data: { workspaceId: command.workspaceId } }];
    case "NoticeEvent": {
      const { type: _, ...noticed } = command;
      if (customer.noticed.includes(noticed.eventId)) return [];
      return [{ type: "ProcessorEventNoticed", data: { ...noticed, workspaceId } }];
    }
    default:
      return unreachable(command);
  }
}

export const processorCustomerDecider: Decider<ProcessorCustomer, ProcessorCustomerCommand, ProcessorCustomerEvent> = {
  category: "processorCustomer",
  initial,
  evolve,
  decide,
};

export const processorCustomers = stream({ decider: processorCustomerDecider, name: processorCustomerStream });
