import type { Event } from "../event.ts";

export type ProcessorCustomerEvent =
  /** The payment processor's customer belongs to this workspace. */
  | Event<"CustomerLinked", { workspaceId: string }>
  /**
   * The processor reported an event. Only a hint: the current state is queried. `eventId` and `eventType` are the processor's, `happenedAt`
   * is ISO 8601. `workspaceId` null: the customer belongs to no workspace, and nothing follows.
   */
  | Event<
      "ProcessorEventNoticed",
      { eventId: string; eventType: string; happenedAt: string; workspaceId: string | null }
    >;

/** Named by the processor's id of the customer, so that a processor's event finds its workspace. */
export const processorCustomerStream = (customerId: string): string => `processorCustomer-${customerId}`;
