import { randomUUID } from "node:crypto";
import { exampleOf } from "#src/http/framework/openapi/examples.ts";
import type { Document } from "#src/http/framework/openapi/openapi.ts";
import { type Ask, asking, type HttpAnswer } from "../asking.ts";

/** Tenants with one resource of every noun, made through the API. For a new noun in a route or field, an error says what to add here. */

type Json = Record<string, any>;

/** `ids`: one id per noun; the noun is the path segment before the id. */
export type Tenant = { workspaceId: string; key: string; ask: Ask; ids: Record<string, string> };

/** The running service, in this process or another one. `deliver` resolves when the mail can be read. */
export type Running = {
  url: string;
  workspace(): Promise<{ id: string; key: string }>;
  deliver(to: string, raw: string): Promise<void>;
};

/** Nothing listens there; WEBHOOK_ALLOWED_HOSTS has to allow it. */
export const webhookHost = "localhost:9";

type NounInput = { service: Running; ask: Ask; workspaceId: string; ids: Record<string, string>; address: string };

const here = "test/support/examples/world.ts";

/** Makes one resource of each noun for a tenant. Later ones depend on earlier ones. */
const makers: Record<string, (making: NounInput) => Promise<string>> = {
  domains: async ({ ask }) => firstOf(await ask("GET /v1/domains")),
  assistants: async ({ ask }) => idOf(await ask("POST /v1/assistants", { json: { name: "Assistant" } })),
  identities: async (making) => {
    const { ask, ids } = making;
    const local_part = `agent-${randomUUID().slice(0, 8)}`;
    const identity = await ask("POST /v1/identities", {
      json: {
        domain_id: ids.domains,
        local_part,
        display_name: "Agent",
        can_send_cold: true,
        approval_channel: { type: "email", config: { to: "boss@example.com" } },
      },
    });
    making.address = identity.json.email_address;
    return idOf(identity);
  },
  threads: async ({ service, ask, address }) => {
    await service.deliver(address, withAttachment(address));
    return firstOf(await ask("GET /v1/threads"));
  },
  messages: async ({ ask, ids }) => (await ask(`GET /v1/threads/${ids.threads}`)).json.messages[0].id,
  attachments: async ({ ask, ids }) => (await ask(`GET /v1/threads/${ids.threads}`)).json.messages[0].attachments[0].id,
  inbound: async ({ ask }) => firstOf(await ask("GET /v1/inbound")),
  drafts: async ({ ask, ids }) =>
    idOf(
      await ask("POST /v1/drafts", {
        json: {
          thread_id: ids.threads,
          identity_id: ids.identities,
          based_on_message_id: ids.messages,
          body_text: "Here it is.",
        },
      }),
    ),
  "api-keys": async ({ ask }) => idOf(await ask("POST /v1/api-keys", { json: { name: "Another" } })),
  members: async ({ ask }) => {
    const answer = await ask("POST /v1/members", { json: { email: "colleague@people.example", role: "approver" } });
    // A workspace's first key may not: then the tenant gets a random member id.
    return answer.status === 401 ? randomUUID() : idOf(answer);
  },
  contacts: async ({ ask }) => firstOf(await ask("GET /v1/contacts")),
  rules: async ({ ask }) =>
    idOf(await ask("POST /v1/rules", { json: { name: "Rule", trigger_event: "draft.created", status: "inactive" } })),
  webhooks: async ({ ask }) =>
    idOf(
      await ask("POST /v1/webhooks", {
        json: { url: `http://${webhookHost}/countersign`, events: ["draft.rejected"] },
      }),
    ),
  deliveries: async ({ ask, ids }) => {
    await ask(`POST /v1/webhooks/${ids.webhooks}/test`);
    return firstOf(await ask(`GET /v1/webhooks/${ids.webhooks}/deliveries`));
  },
  // The audit tree of a workspace has its id.
  audit: async ({ workspaceId }) => workspaceId,
  tasks: async ({ ask, ids }) =>
    (
      await ask(`POST /v1/identities/${ids.identities}/test-email`, {
        json: { recipient_email: "somebody@customer.example" },
      })
    ).json.task_id,
};

/** Makes a workspace with one resource of every noun in the document's routes. */
export async function makeTenant(service: Running, document: Document): Promise<Tenant> {
  const { id: workspaceId, key } = await service.workspace();
  const ask = asking(service.url, key);
  const making: NounInput = { service, ask, workspaceId, ids: {}, address: "" };
  for (const noun of nounsOf(document)) {
    if (!makers[noun]) throw new Error(`${noun}: say in ${here} (makers) how a tenant gets one of them`);
  }
  for (const [noun, make] of Object.entries(makers)) {
    if (nounsOf(document).includes(noun)) making.ids[noun] = await make(making);
    if (making.ids[noun] === undefined && nounsOf(document).includes(noun)) throw new Error(`${noun}: none was made`);
  }
  return { workspaceId, key, ask, ids: making.ids };
}

const nounsOf = (document: Document): string[] => [
  ...new Set(Object.keys(document.paths).flatMap((path) => paramsOf(path).map(({ noun }) => noun))),
];

/** Returns the ids in a path, each with its noun: the segment before it. Parts of an audit tree are numbered, and have no id. */
export const paramsOf = (path: string): { name: string; noun: string }[] =>
  [...withFirstTile(path).matchAll(/\/([\w-]+)\/\{(\w+)\}/g)].map(([, noun, name]) => ({
    noun: noun as string,
    name: name as string,
  }));

/** The numbers in a path of an audit tree: epoch 1, the first tile. */
export const firstTile: Record<string, string> = { epoch: "1", level: "0", n1: "000", n2: "000", n3: "000", n4: "000" };

const withFirstTile = (path: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (param, name) => firstTile[name] ?? param);

/** Returns the noun of an id field or query parameter, for example messages for `based_on_message_id`. */
export function nounOfField(field: string): string {
  // No route has a user in its path; the id of a member is no user id, and refused alike.
  if (field === "user_id") return "members";
  const word = /([a-z]+)_ids?$/.exec(field)?.[1] ?? field;
  const noun = word.endsWith("y") ? `${word.slice(0, -1)}ies` : `${word}s`;
  if (!makers[noun]) throw new Error(`${field}: say in ${here} (nounOfField) whose id it is`);
  return noun;
}

/** Fills a path with a tenant's own ids, except the given ones. */
export const pathOf = (path: string, { ids }: Tenant, others: Record<string, string> = {}): string =>
  paramsOf(path).reduce(
    (line, { name, noun }) => line.replace(`{${name}}`, others[name] ?? (ids[noun] as string)),
    withFirstTile(path),
  );

/** Returns the paths of the ids in a body of this schema; an array's first element represents all. */
export function idPlaces(schema: Json, schemas: Json, at: (string | number)[] = []): (string | number)[][] {
  const resolved: Json = schema.$ref ? schemas[schema.$ref.split("/").at(-1)] : schema;
  const branches: Json[] = [...(resolved.anyOf ?? []), ...(resolved.oneOf ?? [])];
  return [
    ...(resolved.format === "uuid" ? [at] : []),
    ...branches.flatMap((branch) => idPlaces(branch, schemas, at)),
    ...Object.entries((resolved.properties ?? {}) as Json).flatMap(([name, inner]) =>
      idPlaces(inner, schemas, [...at, name]),
    ),
    ...(resolved.items ? idPlaces(resolved.items, schemas, [...at, 0]) : []),
  ];
}

/** Returns the nearest field name above an id: an array's elements have the array's name. */
export const fieldAt = (place: (string | number)[]): string =>
  place.findLast((step) => typeof step === "string") as string;

/** Makes a body of this schema with all required fields, and the tenant's ids. */
export function bodyOf(schema: Json, schemas: Json, { ids }: Tenant): Json {
  const body = exampleOf(schema, schemas) as Json;
  for (const place of idPlaces(schema, schemas)) {
    if (valueAt(body, place) !== undefined) put(body, place, ids[nounOfField(fieldAt(place))]);
  }
  return body;
}

const valueAt = (value: any, [step, ...rest]: (string | number)[]): unknown =>
  step === undefined ? value : value == null ? undefined : valueAt(value[step], rest);

/** Puts a value into a body, creating missing parents. */
export function put(body: Json, place: (string | number)[], value: unknown): Json {
  let at: any = body;
  for (const [index, step] of place.slice(0, -1).entries()) {
    at[step] ??= typeof place[index + 1] === "number" ? [] : {};
    at = at[step];
  }
  at[place.at(-1) as string] = value;
  return body;
}

function idOf({ status, json, text }: HttpAnswer): string {
  if (status >= 300) throw new Error(`${status} ${text}`);
  return json.id;
}

function firstOf({ status, json, text }: HttpAnswer): string {
  if (status >= 300 || json.data.length === 0) throw new Error(`${status} ${text}`);
  return json.data[0].id;
}

const withAttachment = (to: string): string =>
  [
    `Message-ID: <${randomUUID()}@customer.example>`,
    "From: Ann Example <ann@customer.example>",
    `To: ${to}`,
    "Subject: My parcel",
    "Date: Mon, 16 Nov 2026 10:00:00 +0000",
    "MIME-Version: 1.0",
    'Content-Type: multipart/mixed; boundary="b"',
    "",
    "--b",
    "Content-Type: text/plain; charset=utf-8",
    "",
    "Where is it?",
    "--b",
    "Content-Type: text/plain; charset=utf-8",
    'Content-Disposition: attachment; filename="receipt.txt"',
    "",
    "Paid.",
    "--b--",
    "",
  ].join("\r\n");
