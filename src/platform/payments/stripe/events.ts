import { Value } from "typebox/value";
import type { ProcessorEvent } from "../paymentProcessor.ts";
import { Event, idOf, timeOf } from "./answers.ts";

/**
 * Reads an event by its content, whichever version of the API wrote it: the version is set at the endpoint, not by us. Undefined if it is
 * no event.
 */
export function readEvent(value: unknown): ProcessorEvent | undefined {
  if (!Value.Check(Event, value)) return undefined;
  const subject = value.data.object as Record<string, unknown>;
  return {
    id: value.id,
    type: value.type,
    createdAt: timeOf(value.created),
    customerId: idOf(subject.object === "customer" ? subject.id : subject.customer),
    subscriptionId: idOf(subject.object === "subscription" ? subject.id : subscriptionIn(subject)),
    checkoutSessionId: subject.object === "checkout.session" ? idOf(subject.id) : null,
  };
}

/** An invoice names its subscription in `parent` since API version 2025-03-31. */
function subscriptionIn({ subscription, parent }: Record<string, unknown>): unknown {
  const { subscription_details: details } = (parent ?? {}) as { subscription_details?: { subscription?: unknown } };
  return subscription ?? details?.subscription;
}
