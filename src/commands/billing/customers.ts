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
 * Creates the workspace's customer at the payment processor if there is none, and stores it. The link from customer to workspace is
 * recorded first, so that the processor's events about the customer can be assigned. Throws ProcessorUnavailable, ProcessorRefused.
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
 * Records an event of the processor; the same event is recorded once. `known`: the customer belongs to a workspace, whose subscriptions
 * will be read again. Events without a customer are not recorded.
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
  /** null: the customer is not created yet. */
  customerId: string | null;
  /** A trial is offered once. */
  trialUsed: boolean;
  /** True if it has an active subscription: that is changed in the portal, and no other is started. */
  isSubscribed: boolean;
  /** The page opened last; it may be expired or completed. */
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
    // The operator may have granted a trial.
    trialUsed: trialUsed || workspace.trialEndsAt !== null,
    isSubscribed: subscriptions.some((each) => isActiveSubscription(each) && !Object.hasOwn(billing.seconds, each.id)),
    checkout,
  };
}

/**
 * Records an opened checkout that replaces the one known before (`replaces`: its session's id). Returns false if another was recorded
 * meanwhile: the caller must expire its own.
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
