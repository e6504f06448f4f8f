import type { Event } from "../event.ts";

export type ProcessorCustomerEvent =
  /** The payment processor's customer is this workspace. */
  | Event<"CustomerLinked", { workspaceId: string }>
  /**
   * The processor says that something happened. It is news and no more: what holds is asked for. `eventId` and `eventType` are the processor's
   * words, `happenedAt` is ISO 8601. `workspaceId` null: it is no workspace's customer, and nothing follows.
   */
  | Event<
      "ProcessorEventNoticed",
      { eventId: string; eventType: string; happenedAt: string; workspaceId: string | null }
    >;

/** By the processor's id of the customer: so an event of the processor finds its workspace. */
export const processorCustomerStream = (customerId: string): string => `processorCustomer-${customerId}`;
