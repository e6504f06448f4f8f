import type Stripe from "stripe";
import { ProcessorRefused } from "../paymentProcessor.ts";
import { asAsked, InvoicePayment, idOf, ListOf, Refund } from "./answers.ts";
import { failureOf } from "./failures.ts";

/** Refunds all payments of an invoice, once. */
export async function refundInvoice(stripe: Stripe, invoiceId: string): Promise<void> {
  const { data } = asAsked(
    ListOf(InvoicePayment),
    await stripe.invoicePayments.list({ invoice: invoiceId, limit: 100 }),
  );
  for (const { status, payment } of data) {
    const [intent, charge] = [idOf(payment.payment_intent), idOf(payment.charge)];
    if (status !== "paid") continue;
    if (intent !== null) await refund(stripe, { payment_intent: intent });
    else if (charge !== null) await refund(stripe, { charge });
  }
}

async function refund(stripe: Stripe, what: { payment_intent: string } | { charge: string }): Promise<void> {
  const idempotencyKey = `countersign-refund-${Object.values(what)[0]}`;
  try {
    asAsked(Refund, await stripe.refunds.create({ ...what, reason: "duplicate" }, { idempotencyKey }));
  } catch (error) {
    const failure = failureOf(error);
    if (!(failure instanceof ProcessorRefused) || failure.code !== "charge_already_refunded") throw failure;
  }
}
