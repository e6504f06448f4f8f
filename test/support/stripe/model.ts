import { randomBytes } from "node:crypto";

/**
 * State of a Stripe account, as far as we use it: our own model, made from Stripe's API reference, without HTTP. Lives of subscriptions
 * are played on it (`completeCheckout`, `renew`, …); every change appends an event, in order. Times are seconds.
 */

export type Customer = {
  id: string;
  object: "customer";
  name: string | null;
  metadata: Record<string, string>;
  deleted?: true;
};

export type StripeCheckout = {
  id: string;
  object: "checkout.session";
  mode: "subscription";
  customer: string;
  client_reference_id: string;
  status: "open" | "complete" | "expired";
  subscription: string | null;
  url: string | null;
  expires_at: number;
  success_url: string;
  metadata: Record<string, string>;
  price: string;
  trialDays: number | null;
  subscriptionMetadata: Record<string, string>;
};

export type Subscription = {
  id: string;
  object: "subscription";
  customer: string;
  status: string;
  created: number;
  trial_end: number | null;
  cancel_at: number | null;
  cancel_at_period_end: boolean;
  ended_at: number | null;
  latest_invoice: string | null;
  metadata: Record<string, string>;
  items: {
    object: "list";
    data: {
      id: string;
      object: "subscription_item";
      price: { id: string; object: "price" };
      quantity: number;
      current_period_start: number;
      current_period_end: number;
    }[];
  };
};

export type Invoice = {
  id: string;
  object: "invoice";
  customer: string;
  status: "open" | "paid" | "void";
  amount: number;
  billing_reason: "subscription_create" | "subscription_cycle";
  payment: string | null;
  refunded: boolean;
  parent: { type: "subscription_details"; subscription_details: { subscription: string } };
};

export type StripeEvent = {
  id: string;
  object: "event";
  type: string;
  created: number;
  api_version: string;
  data: { object: Record<string, unknown> };
};

const day = 86_400;
const newId = (kind: string) => `${kind}_${randomBytes(9).toString("hex")}`;

export class StripeModel {
  readonly customers = new Map<string, Customer>();
  readonly sessions = new Map<string, StripeCheckout>();
  readonly subscriptions = new Map<string, Subscription>();
  readonly invoices = new Map<string, Invoice>();
  readonly events: StripeEvent[] = [];
  /** The model's time, in seconds. */
  now: () => number;
  /** True if a price's period is a year. */
  readonly isAnnual: (price: string) => boolean;

  constructor({ now = () => Math.floor(Date.now() / 1_000), isAnnual = (price: string) => /annual/.test(price) } = {}) {
    this.now = now;
    this.isAnnual = isAnnual;
  }

  createCustomer(of: { name?: string; metadata?: Record<string, string> } = {}): Customer {
    const { name = null, metadata = {} } = of;
    const customer: Customer = { id: newId("cus"), object: "customer", name, metadata };
    this.customers.set(customer.id, customer);
    this.tell("customer.created", customer);
    return customer;
  }

  deleteCustomer(id: string): void {
    for (const each of this.subscriptionsOf(id)) if (!hasEnded(each)) this.cancel(each.id);
    const customer = this.customers.get(id)!;
    customer.deleted = true;
    this.tell("customer.deleted", { ...customer, deleted: undefined });
  }

  openCheckout(
    of: Omit<StripeCheckout, "id" | "object" | "mode" | "status" | "subscription" | "url" | "expires_at">,
  ): StripeCheckout {
    const id = newId("cs_test");
    const session: StripeCheckout = {
      ...of,
      ...{ id, object: "checkout.session", mode: "subscription", status: "open", subscription: null },
      url: `https://checkout.stripe.example/c/pay/${id}`,
      expires_at: this.now() + day,
    };
    this.sessions.set(id, session);
    return session;
  }

  /** Expires a checkout. False: it is no longer open. */
  expireCheckout(id: string): boolean {
    const session = this.sessions.get(id)!;
    if (session.status !== "open") return false;
    Object.assign(session, { status: "expired", url: null });
    this.tell("checkout.session.expired", session);
    return true;
  }

  /** Completes a checkout with a card. Throws if that is no longer possible. */
  completeCheckout(id: string): Subscription {
    const session = this.sessions.get(id)!;
    if (session.status !== "open") throw new Error(`checkout ${id} is ${session.status}`);
    const subscription = this.subscribe(session);
    Object.assign(session, { status: "complete", subscription: subscription.id, url: null });
    this.tell("checkout.session.completed", session);
    return subscription;
  }

  /** Begins a subscription: on trial, or paid immediately. */
  subscribe(of: Pick<StripeCheckout, "customer" | "price" | "trialDays"> & Partial<StripeCheckout>): Subscription {
    const [start, trial] = [this.now(), of.trialDays];
    const end = trial === null ? this.periodEnd(of.price, start) : start + trial * day;
    const subscription: Subscription = {
      ...{ id: newId("sub"), object: "subscription", customer: of.customer, created: start },
      status: trial === null ? "active" : "trialing",
      trial_end: trial === null ? null : end,
      ...{ cancel_at: null, cancel_at_period_end: false, ended_at: null, latest_invoice: null },
      metadata: of.subscriptionMetadata ?? {},
      items: {
        object: "list",
        data: [
          {
            ...{ id: newId("si"), object: "subscription_item", quantity: 1 },
            price: { id: of.price, object: "price" },
            ...{ current_period_start: start, current_period_end: end },
          },
        ],
      },
    };
    this.subscriptions.set(subscription.id, subscription);
    this.tell("customer.subscription.created", subscription);
    this.bill(subscription, { amount: trial === null ? 2_900 : 0, paid: true });
    return subscription;
  }

  /** Begins the next period; whether it is paid determines its status. */
  renew(id: string, { paid = true }: { paid?: boolean } = {}): void {
    const subscription = this.subscriptions.get(id)!;
    const item = subscription.items.data[0]!;
    item.current_period_start = item.current_period_end;
    item.current_period_end = this.periodEnd(item.price.id, item.current_period_start);
    this.bill(subscription, { amount: 2_900, paid });
    this.update(id, { status: paid ? "active" : "past_due" });
  }

  /** Makes any other change: its status, when it is canceled, its price. */
  update(id: string, { price, ...changes }: Partial<Subscription> & { price?: string }): void {
    const subscription = Object.assign(this.subscriptions.get(id)!, changes);
    if (price !== undefined) subscription.items.data[0]!.price.id = price;
    const types: Record<string, string> = { paused: "customer.subscription.paused" };
    this.tell(types[changes.status ?? ""] ?? "customer.subscription.updated", subscription);
  }

  cancel(id: string): void {
    const subscription = this.subscriptions.get(id)!;
    Object.assign(subscription, { status: "canceled", ended_at: this.now() });
    this.tell("customer.subscription.deleted", subscription);
  }

  /** Refunds a payment. False: it is refunded already. */
  refund(payment: string): boolean {
    const invoice = [...this.invoices.values()].find((each) => each.payment === payment)!;
    if (invoice.refunded) return false;
    invoice.refunded = true;
    return true;
  }

  subscriptionsOf = (customer: string): Subscription[] =>
    [...this.subscriptions.values()].filter((each) => each.customer === customer).reverse();

  /** Appends an event. */
  tell(type: string, subject: object): StripeEvent {
    const event: StripeEvent = {
      ...{ id: newId("evt"), object: "event", type, created: this.now(), api_version: "2026-10-28.endive" },
      data: { object: JSON.parse(JSON.stringify(subject)) },
    };
    this.events.push(event);
    return event;
  }

  private bill(subscription: Subscription, { amount, paid }: { amount: number; paid: boolean }): void {
    const billing_reason = subscription.latest_invoice === null ? "subscription_create" : "subscription_cycle";
    const invoice: Invoice = {
      ...{ id: newId("in"), object: "invoice", customer: subscription.customer, amount, billing_reason },
      refunded: false,
      status: paid ? "paid" : "open",
      payment: paid && amount > 0 ? newId("pi") : null,
      parent: { type: "subscription_details", subscription_details: { subscription: subscription.id } },
    };
    this.invoices.set(invoice.id, invoice);
    subscription.latest_invoice = invoice.id;
    this.tell(paid ? "invoice.paid" : "invoice.payment_failed", invoice);
  }

  /** Returns the same day of a later month, or its last one. */
  private periodEnd(price: string, start: number): number {
    const from = new Date(start * 1_000);
    const months = this.isAnnual(price) ? 12 : 1;
    const end = new Date(from);
    end.setUTCDate(1);
    end.setUTCMonth(from.getUTCMonth() + months);
    const last = new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + 1, 0)).getUTCDate();
    end.setUTCDate(Math.min(from.getUTCDate(), last));
    return end.getTime() / 1_000;
  }
}

export const hasEnded = ({ status }: Subscription): boolean => ["canceled", "incomplete_expired"].includes(status);
