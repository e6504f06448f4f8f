import Type, { type Static, type TSchema } from "typebox";
import { Value } from "typebox/value";
import { ProcessorUnavailable } from "../paymentProcessor.ts";

/** Schemas of the parts of Stripe's objects that we use. All other parts may change. */

const Id = Type.String({ minLength: 1, maxLength: 255 });
/** An object, or its id alone, depending on what the request expanded. */
const Ref = Type.Union([Id, Type.Object({ id: Id })]);
const NullableRef = Type.Optional(Type.Union([Ref, Type.Null()]));
const Seconds = Type.Integer({ minimum: 0, maximum: 253_402_300_799 });
const NullableSeconds = Type.Optional(Type.Union([Seconds, Type.Null()]));
const Url = Type.String({ minLength: 8, maxLength: 5_000 });

export const Customer = Type.Object({
  object: Type.Literal("customer"),
  id: Id,
  deleted: Type.Optional(Type.Boolean()),
});

export const CheckoutSession = Type.Object({
  object: Type.Literal("checkout.session"),
  id: Id,
  customer: NullableRef,
  status: Type.Enum(["open", "complete", "expired"]),
  subscription: NullableRef,
});

export const OpenedSession = Type.Object({
  object: Type.Literal("checkout.session"),
  id: Id,
  customer: Ref,
  url: Url,
  // Absent means one day from now.
  expires_at: Type.Optional(Seconds),
});

export const PortalSession = Type.Object({ object: Type.Literal("billing_portal.session"), url: Url });

/** Fields that show whether it was paid. If only its id is given, that is unknown. */
const LatestInvoice = Type.Object({
  id: Id,
  status: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  billing_reason: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});

export const Subscription = Type.Object({
  object: Type.Literal("subscription"),
  id: Id,
  customer: Ref,
  status: Type.String({ minLength: 1, maxLength: 50 }),
  created: Seconds,
  trial_end: NullableSeconds,
  cancel_at: NullableSeconds,
  cancel_at_period_end: Type.Optional(Type.Boolean()),
  cancellation_details: Type.Optional(
    Type.Union([Type.Object({ reason: Type.Optional(Type.Union([Type.String(), Type.Null()])) }), Type.Null()]),
  ),
  latest_invoice: Type.Optional(Type.Union([Id, LatestInvoice, Type.Null()])),
  // Location of periods before API version 2025-03-31.
  current_period_start: Type.Optional(Seconds),
  current_period_end: Type.Optional(Seconds),
  items: Type.Object({
    data: Type.Array(
      Type.Object({
        price: Type.Object({ id: Id }),
        current_period_start: Type.Optional(Seconds),
        current_period_end: Type.Optional(Seconds),
      }),
      { minItems: 1 },
    ),
  }),
});

export const InvoicePayment = Type.Object({
  object: Type.Literal("invoice_payment"),
  status: Type.String(),
  payment: Type.Object({ payment_intent: NullableRef, charge: NullableRef }),
});

export const Refund = Type.Object({ object: Type.Literal("refund"), id: Id });

export const ListOf = <Item extends TSchema>(item: Item) =>
  Type.Object({ object: Type.Literal("list"), data: Type.Array(item) });

export const Event = Type.Object({
  object: Type.Literal("event"),
  id: Id,
  type: Type.String({ minLength: 1, maxLength: 200 }),
  created: Seconds,
  data: Type.Object({ object: Type.Object({ object: Type.Optional(Type.String()) }) }),
});

/** Validates an answer. Throws ProcessorUnavailable if it does not match: then another server answered, or Stripe is in trouble. */
export function asAsked<Kind extends TSchema>(kind: Kind, answer: unknown): Static<Kind> {
  if (Value.Check(kind, answer)) return answer;
  throw new ProcessorUnavailable("the payment processor's answer is not what was asked for");
}

/** Returns the id of a referenced object; null if there is none. */
export function idOf(reference: unknown): string | null {
  const id = typeof reference === "object" && reference !== null ? (reference as { id?: unknown }).id : reference;
  return Value.Check(Id, id) ? id : null;
}

export const timeOf = (seconds: number): string => new Date(seconds * 1_000).toISOString();

export const timeOrNull = (seconds: number | null | undefined): string | null =>
  typeof seconds === "number" ? timeOf(seconds) : null;
