import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Stripe from "stripe";
import { hasEnded, type StripeEvent, StripeModel, type Subscription } from "./model.ts";

/**
 * Our own mock of Stripe's API, on loopback: the calls that the service makes, over the model in this folder. It refuses what Stripe's
 * reference does not define, and remembers idempotency keys. It proves nothing about how Stripe behaves.
 */

export const secretKey = "sk_test_mockmockmockmockmock";
export const webhookSecret = "whsec_mockmockmockmockmockmock";

/** The fault of a broken provider. */
export type StripeFault =
  | { status: number; body: string; type?: string; headers?: Record<string, string> }
  | "silence"
  | "hang up"
  /** The server executes the call, and its answer is lost. */
  | "lost answer";

type Parameters = Record<string, string>;
type StripeAnswer = { status: number; body: object };
export type Call = {
  method: string;
  path: string;
  parameters: Parameters;
  key: string | undefined;
  version: string | undefined;
};

const invalid = (code: string, status = 400): StripeAnswer => ({
  status,
  body: { error: { type: "invalid_request_error", code, message: `mock: ${code}` } },
});
const missing = () => invalid("resource_missing", 404);
const ok = (body: object): StripeAnswer => ({ status: 200, body });

/** Allowed parameters of each call: `#` means a number, `*` a name. */
const known: [line: RegExp, names: string[]][] = [
  [/^POST \/v1\/customers(\/\w+)?$/, ["name", "metadata[*]"]],
  [
    /^POST \/v1\/checkout\/sessions$/,
    [
      ...["mode", "customer", "client_reference_id", "line_items[#][price]", "line_items[#][quantity]", "metadata[*]"],
      ...["subscription_data[trial_period_days]", "subscription_data[metadata][*]", "payment_method_collection"],
      ...["success_url", "cancel_url"],
    ],
  ],
  [/^POST \/v1\/billing_portal\/sessions$/, ["customer", "return_url", "configuration"]],
  [/^GET \/v1\/subscriptions$/, ["customer", "status", "limit", "expand[#]"]],
  [/^DELETE \/v1\/subscriptions\/\w+$/, ["invoice_now", "prorate"]],
  [/^GET \/v1\/invoice_payments$/, ["invoice", "limit"]],
  [/^POST \/v1\/refunds$/, ["payment_intent", "reason"]],
];

export type MockStripe = Awaited<ReturnType<typeof startMockStripe>>;

export async function startMockStripe(model = new StripeModel()) {
  const calls: Call[] = [];
  const kept = new Map<string, { asked: string; answer: StripeAnswer }>();
  const faults: { line: RegExp; fault: StripeFault; times: number }[] = [];
  const waiting = new Set<ServerResponse>();

  const server = createServer((request, response) => {
    void handle(request, response).catch((error) => response.destroy(error as Error));
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, "http://mock");
    const body = await textOf(request);
    const parameters = Object.fromEntries([...searchParams, ...new URLSearchParams(body)]);
    const [method, key] = [request.method!, request.headers["idempotency-key"] as string | undefined];
    const version = request.headers["stripe-version"] as string | undefined;
    const call = { method, path: pathname, parameters, key, version };
    calls.push(call);
    const line = `${method} ${pathname}`;
    const fault = faults.find((each) => each.times > 0 && each.line.test(line));
    if (fault) fault.times -= 1;
    if (fault && fault.fault !== "lost answer") return fail(fault.fault, response);
    const { status, body: json } =
      request.headers.authorization === `Bearer ${secretKey}` ? remembered(call) : unauthorised;
    if (fault) return void response.destroy();
    response.writeHead(status, { "content-type": "application/json", "request-id": "req_mock" });
    response.end(JSON.stringify(json));
  }

  /** Answers the same key with the same answer; refuses it with other parameters. */
  function remembered(call: Call): StripeAnswer {
    if (call.method !== "POST" || call.key === undefined) return answerTo(model, call);
    const asked = JSON.stringify([call.path, call.parameters]);
    const before = kept.get(call.key);
    if (before && before.asked !== asked)
      return {
        status: 400,
        body: { error: { type: "idempotency_error", message: "mock: another request had this key" } },
      };
    if (before) return before.answer;
    const answer = answerTo(model, call);
    kept.set(call.key, { asked, answer: structuredClone(answer) });
    return answer;
  }

  function fail(fault: Exclude<StripeFault, "lost answer">, response: ServerResponse): void {
    if (fault === "hang up") return void response.destroy();
    if (fault === "silence") return void waiting.add(response);
    response.writeHead(fault.status, { "content-type": fault.type ?? "application/json", ...fault.headers });
    response.end(fault.body);
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    model,
    calls,
    /** Makes the next calls of this line, such as `POST /v1/customers`, fail this way. */
    breakDown(line: RegExp, fault: StripeFault, times = Number.POSITIVE_INFINITY) {
      faults.unshift({ line, fault, times });
    },
    mend() {
      faults.length = 0;
      for (const response of waiting) response.destroy();
      waiting.clear();
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const unauthorised: StripeAnswer = {
  status: 401,
  body: { error: { type: "invalid_request_error", message: "mock: no such key" } },
};

/** Makes an event as Stripe posts it. `atMs`: time of its signature. */
export function signedCall(event: StripeEvent, { secret = webhookSecret, atMs = Date.now() } = {}) {
  const body = JSON.stringify(event);
  const timestamp = Math.floor(atMs / 1_000);
  return { body, signature: Stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp }) };
}

function answerTo(model: StripeModel, { method, path, parameters }: Call): StripeAnswer {
  const line = `${method} ${path}`;
  const names = known.find(([pattern]) => pattern.test(line))?.[1] ?? [];
  const shapes = names.map(
    (name) => new RegExp(`^${name.replace(/[[\]]/g, "\\$&").replace("*", "\\w+").replace("#", "\\d+")}$`),
  );
  if (!Object.keys(parameters).every((name) => shapes.some((shape) => shape.test(name))))
    return invalid("parameter_unknown");
  const [, resource, id] = /^\/v1\/(customers|checkout\/sessions|subscriptions)\/(\w+)/.exec(path) ?? [];
  const found = { customers: model.customers, "checkout/sessions": model.sessions, subscriptions: model.subscriptions };
  if (resource && !found[resource as keyof typeof found].has(id!)) return missing();
  switch (line.replace(id ?? "\0", ":id")) {
    case "POST /v1/customers":
      return ok(model.createCustomer({ metadata: under(parameters, "metadata") }));
    case "GET /v1/customers/:id":
      return ok(shownCustomer(model, id!));
    case "POST /v1/customers/:id": {
      const customer = model.customers.get(id!)!;
      if (customer.deleted) return missing();
      return ok(Object.assign(customer, parameters.name && { name: parameters.name }));
    }
    case "POST /v1/checkout/sessions":
      return openCheckout(model, parameters);
    case "GET /v1/checkout/sessions/:id":
      return ok(model.sessions.get(id!)!);
    case "POST /v1/checkout/sessions/:id/expire":
      return model.expireCheckout(id!) ? ok(model.sessions.get(id!)!) : invalid("checkout_session_not_open");
    case "POST /v1/billing_portal/sessions":
      return openPortal(model, parameters);
    case "GET /v1/subscriptions":
      return isAlive(model, parameters.customer)
        ? ok(list(model.subscriptionsOf(parameters.customer!).map((each) => withInvoice(model, each, parameters))))
        : invalid("resource_missing");
    case "GET /v1/subscriptions/:id":
      return ok(model.subscriptions.get(id!)!);
    case "DELETE /v1/subscriptions/:id":
      if (hasEnded(model.subscriptions.get(id!)!)) return missing();
      model.cancel(id!);
      return ok(model.subscriptions.get(id!)!);
    case "GET /v1/invoice_payments": {
      const { payment } = model.invoices.get(parameters.invoice!) ?? {};
      const of = payment && {
        object: "invoice_payment",
        status: "paid",
        payment: { type: "payment_intent", payment_intent: payment },
      };
      return ok(list(of ? [of] : []));
    }
    case "POST /v1/refunds":
      return model.refund(parameters.payment_intent!)
        ? ok({ object: "refund", id: "re_mock" })
        : invalid("charge_already_refunded");
    default:
      return invalid("no such call", 404);
  }
}

function openCheckout(model: StripeModel, given: Parameters): StripeAnswer {
  if (!isAlive(model, given.customer)) return invalid("resource_missing");
  if (given.mode !== "subscription" || !/^price_/.test(given["line_items[0][price]"] ?? ""))
    return invalid("parameter_invalid");
  const days = given["subscription_data[trial_period_days]"];
  const {
    price: _,
    trialDays: __,
    subscriptionMetadata: ___,
    ...session
  } = model.openCheckout({
    ...{ customer: given.customer!, client_reference_id: given.client_reference_id!, success_url: given.success_url! },
    ...{ metadata: under(given, "metadata"), subscriptionMetadata: under(given, "subscription_data[metadata]") },
    ...{ price: given["line_items[0][price]"]!, trialDays: days === undefined ? null : Number(days) },
  });
  return ok(session);
}

function openPortal(model: StripeModel, { customer, return_url }: Parameters): StripeAnswer {
  if (!isAlive(model, customer)) return invalid("resource_missing");
  const url = `https://billing.stripe.example/p/session/${customer}`;
  return ok({ object: "billing_portal.session", id: "bps_mock", customer, return_url, url });
}

const shownCustomer = (model: StripeModel, id: string): object => {
  const customer = model.customers.get(id)!;
  return customer.deleted ? { id, object: "customer", deleted: true } : customer;
};

const isAlive = (model: StripeModel, id: string | undefined): boolean => {
  const customer = model.customers.get(id ?? "");
  return customer !== undefined && !customer.deleted;
};

const list = (data: object[]) => ({ object: "list", data, has_more: false });

/** Returns the values sent as `name[key]`. */
const under = (given: Parameters, name: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(given)
      .filter(([key]) => key.startsWith(`${name}[`))
      .map(([key, value]) => [key.slice(name.length + 1, -1), value]),
  );

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** Returns a subscription as in a list: with its whole last invoice if requested. */
const withInvoice = (model: StripeModel, subscription: Subscription, { "expand[0]": expand }: Call["parameters"]) => {
  const invoice = model.invoices.get(subscription.latest_invoice ?? "");
  return expand === "data.latest_invoice" && invoice ? { ...subscription, latest_invoice: invoice } : subscription;
};
