import {
  type PaymentProcessor,
  type ProcessorEvent,
  ProcessorUnavailable,
} from "#src/platform/payments/paymentProcessor.ts";
import type { Checkout } from "#streams/billing/events.ts";
import { isActiveSubscription } from "#streams/billing/planFrom.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";

/**
 * Creates the workspace's customer at the payment processor, if there is none, and stores the customer's id. The link from customer to
 * workspace is recorded first, so that the processor's events about the customer can be assigned to the workspace. Throws
 * ProcessorUnavailable, ProcessorRefused.
 */
export async function createCustomer(
  deps: Dependencies,
  { workspaceId, payments }: { workspaceId: string; payments: Pick<PaymentProcessor, "createCustomer"> },
  cause: Cause,
): Promise<void> {
  const { state: billing } = await deps.billings.load(workspaceId);
  if (billing.customerId !== null) return;
  const { name } = (await deps.workspaces.load(workspaceId)).state;
  const insteadOf = billing.lostCustomerId;
  const { customerId } = await payments.createCustomer({ workspaceId, name, insteadOf });
  if (customerId === insteadOf)
    throw new ProcessorUnavailable("the payment processor answered with a deleted customer");
  await deps.processorCustomers.handle(customerId, { type: "LinkCustomer", workspaceId }, cause);
  await deps.billings.handle(workspaceId, { type: "KeepCustomer", customerId }, cause);
}

/** Returns a customer's workspace; null if unknown. */
export const workspaceOfCustomer = async (deps: Dependencies, customerId: string): Promise<string | null> =>
  (await deps.processorCustomers.load(customerId)).state.workspaceId;

/**
 * Records an event of the processor once, however often it arrives. Returns `known`: true if its customer belongs to a workspace, whose
 * subscriptions will then be read again. Does not record events without a customer.
 */
export async function recordProcessorEvent(
  deps: Dependencies,
  { id, type, createdAt, customerId }: Pick<ProcessorEvent, "id" | "type" | "createdAt" | "customerId">,
  cause: Cause,
): Promise<{ known: boolean }> {
  if (customerId === null) return { known: false };
  const workspaceId = await workspaceOfCustomer(deps, customerId);
  const command = { type: "NoticeEvent", eventId: id, eventType: type, happenedAt: createdAt } as const;
  const { state } = await deps.processorCustomers.handle(customerId, command, { ...cause, workspaceId });
  return { known: state.workspaceId !== null };
}

/** Requests that the subscriptions be read again, because they may have changed. */
export async function requestSubscriptionRead(
  deps: Dependencies,
  { workspaceId, because }: { workspaceId: string; because: string },
  cause: Cause,
): Promise<void> {
  await deps.billings.handle(workspaceId, { type: "AskForSubscriptions", because }, { ...cause, workspaceId });
}

/** Payment state of a workspace used by checkout and portal. */
export type Payer = {
  /** Customer id at the processor; null if the customer is not created yet. */
  customerId: string | null;
  /** True if the workspace has already had its single trial. */
  trialUsed: boolean;
  /** True if the workspace has an active subscription. It is then changed in the portal; no second one is started. */
  isSubscribed: boolean;
  /** The most recently opened checkout. It may have expired or been completed. */
  checkout: Checkout | null;
};

/** Returns the recorded payment state; the processor is not called. */
export async function loadPayer(deps: Dependencies, workspaceId: string): Promise<Payer> {
  const [{ state: billing }, { state: workspace }] = await Promise.all([
    deps.billings.load(workspaceId),
    deps.workspaces.load(workspaceId),
  ]);
  const { customerId, trialUsed, subscriptions, checkout } = billing;
  return {
    customerId,
    // The operator may have granted the workspace a trial without a subscription.
    trialUsed: trialUsed || workspace.trialEndsAt !== null,
    isSubscribed: subscriptions.some((each) => isActiveSubscription(each) && !Object.hasOwn(billing.seconds, each.id)),
    checkout,
  };
}

/**
 * Records an opened checkout that replaces the previously known one (`replaces`: session id of that checkout). Returns false if another
 * checkout was recorded in between; the caller must then expire the checkout that it opened.
 */
export async function recordCheckout(
  deps: Dependencies,
  { workspaceId, checkout, replaces }: { workspaceId: string; checkout: Checkout; replaces: string | null },
  cause: Cause,
): Promise<boolean> {
  const command = { type: "OpenCheckout", checkout, replaces } as const;
  const { state } = await deps.billings.handle(workspaceId, command, cause);
  return state.checkout?.sessionId === checkout.sessionId;
}
