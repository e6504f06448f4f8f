import {
  type PaymentProcessor,
  type ProcessorEvent,
  ProcessorUnavailable,
} from "#src/platform/payments/paymentProcessor.ts";
import type { Checkout } from "#streams/billing/events.ts";
import { works } from "#streams/billing/planFrom.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";

/**
 * The workspace's customer at the payment processor: made if there is none, and kept. The way from the customer to the workspace is recorded
 * first, so that whatever the processor says of it afterwards is known to be the workspace's. Throws ProcessorUnavailable, ProcessorRefused.
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

/** Whose customer it is; null: we know of no workspace. */
export const workspaceOfCustomer = async (deps: Dependencies, customerId: string): Promise<string | null> =>
  (await deps.processorCustomers.load(customerId)).state.workspaceId;

/**
 * Records that the processor says something happened; the same event twice is recorded once. `known`: the customer is a workspace's, and what
 * holds now will be asked for. Of nobody in particular nothing is recorded.
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

/** Has the subscriptions read again, where somebody has reason to believe that they changed. */
export async function askForSubscriptions(
  deps: Dependencies,
  { workspaceId, because }: { workspaceId: string; because: string },
  cause: Cause,
): Promise<void> {
  await deps.billings.handle(workspaceId, { type: "AskForSubscriptions", because }, { ...cause, workspaceId });
}

/** What checkout and portal go by. */
export type Payer = {
  /** null: its customer is not made yet. */
  customerId: string | null;
  /** A trial is offered once. */
  trialUsed: boolean;
  /** It has a subscription that works: it is changed in the portal, and no other is started. */
  isSubscribed: boolean;
  /** The page that was opened last; it may have expired, or be completed. */
  checkout: Checkout | null;
};

/** What is recorded of how a workspace pays; the processor is not asked. */
export async function payerOf(deps: Dependencies, workspaceId: string): Promise<Payer> {
  const [{ state: billing }, { state: workspace }] = await Promise.all([
    deps.billings.load(workspaceId),
    deps.workspaces.load(workspaceId),
  ]);
  const { customerId, trialUsed, subscriptions, checkout } = billing;
  return {
    customerId,
    // The operator may have given one.
    trialUsed: trialUsed || workspace.trialEndsAt !== null,
    isSubscribed: subscriptions.some((each) => works(each) && !Object.hasOwn(billing.seconds, each.id)),
    checkout,
  };
}

/**
 * Records that a checkout was opened in the place of the one known before (`replaces`: its session's id). False where another was opened
 * meanwhile: then that one is the workspace's, and the caller's own is to be expired.
 */
export async function keepCheckout(
  deps: Dependencies,
  { workspaceId, checkout, replaces }: { workspaceId: string; checkout: Checkout; replaces: string | null },
  cause: Cause,
): Promise<boolean> {
  const command = { type: "OpenCheckout", checkout, replaces } as const;
  const { state } = await deps.billings.handle(workspaceId, command, cause);
  return state.checkout?.sessionId === checkout.sessionId;
}
