import { followSubscriptions as follow } from "#src/commands/billing/subscriptions.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { PaymentProcessor } from "#src/platform/payments/paymentProcessor.ts";
import { categoryOf, idOf, type Recorded } from "#streams/event.ts";
import { askProcessor } from "./askProcessor.ts";
import type { Process, ProcessContext, RetryLater } from "./process.ts";

const timer = "read again";

/**
 * After any event of the payment processor about a workspace's customer, reads the workspace's subscriptions again and sets the plan by
 * their present state. The order, repetition and kind of the events therefore do not matter. A change without an event is found when a
 * period should have ended, and at the latest after a day.
 */
export function followSubscriptions(deps: Dependencies, payments: PaymentProcessor): Process {
  const look = (workspaceId: string, context: ProcessContext): Promise<RetryLater | undefined> =>
    askProcessor(deps, context, async () => {
      const next = await follow(deps, { workspaceId, payments }, { ...context.cause, workspaceId });
      if (next === null) await context.timers.cancel(workspaceId, timer);
      else await context.timers.set({ key: workspaceId, name: timer, dueAt: next });
    });

  const onNews = (event: Recorded, context: ProcessContext) => look(workspaceOf(event), context);

  return {
    name: "followSubscriptions",
    categories: ["processorCustomer", "billing"],
    keyOf: workspaceOf,
    concerns: ({ type, data }) => type !== "ProcessorEventNoticed" || data.workspaceId !== null,
    // An open checkout is followed from the moment it is opened: its result is known at the latest when it expires.
    on: { ProcessorEventNoticed: onNews, CustomerCreated: onNews, SubscriptionsAsked: onNews, CheckoutOpened: onNews },
    looksAt: "key",
    onTimer: ({ key: workspaceId }, context) => look(workspaceId, context),
    concurrency: 8,
    givingUp: "never",
  };
}

const workspaceOf = (event: Recorded): string =>
  categoryOf(event.stream) === "billing" ? idOf(event.stream) : (event.data.workspaceId as string);
