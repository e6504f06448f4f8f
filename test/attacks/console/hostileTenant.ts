import { expect } from "chai";
import type { Document } from "#src/http/framework/openapi/openapi.ts";
import { makeTenant, type Tenant } from "#test/support/examples/world.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import { strangersMail, submitDraft, type Writing, writing } from "../words/story.ts";

/** A tenant with one of everything, whose free texts each have a separate payload. `told`: the payloads by name. */
export type HostileTenant = Tenant & { told: Writing };

/** Makes a hostile tenant. `ids` are those of its rules, drafts, threads and whatever else carries hostile text. */
export async function makeHostileTenant(service: InProcess, document: Document): Promise<HostileTenant> {
  const tenant = await makeTenant(service, document);
  const { ids, ask: asked } = tenant;
  const told = writing(tenant);
  const { ask, write } = told;
  await ask("PATCH /v1/workspaces/me", (field) => ({ name: field("name") }));
  ids["api-keys"] = (await ask("POST /v1/api-keys", (field) => ({ name: field("name"), scopes: ["read:threads"] }))).id;
  await ask("POST /v1/assistants", (field) => ({ name: field("name"), description: field("description") }));
  const identity = await ask(`PATCH /v1/identities/${ids.identities}`, (field) => ({
    display_name: field("display_name"),
    signature_text: field("signature_text"),
    signature_html: `<p>${field("signature_html")}</p>`,
  }));
  await ask("POST /v1/rules", (field) => ({ name: field("name"), trigger_event: "draft.created", status: "inactive" }));

  await service.deliver(identity.email_address, strangersMail(write, "a mail", { to: identity.email_address }));
  const draft = await submitDraft(service, tenant, {
    ask,
    identityId: identity.id,
  });
  await ask(`PATCH /v1/drafts/${draft.id}`, (field) => ({
    body_text: `Edited: ${field("body_text")}`,
    rationale: field("rationale"),
  }));
  const [contact] = (await asked("GET /v1/contacts")).json.data;
  await ask(`PATCH /v1/contacts/${contact.id}`, (field) => ({ name: field("name"), tags: [field("tags[0]")] }));
  const { messages } = (await asked(`GET /v1/threads/${draft.thread_id}`)).json;
  const message = messages.at(-1);
  Object.assign(ids, {
    threads: draft.thread_id,
    drafts: draft.id,
    messages: message.id,
    attachments: message.attachments[0].id,
    contacts: contact.id,
  });
  // A second draft of the same thread is rejected, with a reason.
  const rejected = await submitDraft(service, tenant, {
    ask,
    identityId: identity.id,
  });
  await ask(`POST /v1/drafts/${rejected.id}/reject`, (field) => ({ reason: field("reason") }));
  await until(async () => (await asked(`GET /v1/drafts/${rejected.id}`)).json.status === "rejected");
  expect((await asked(`GET /v1/drafts/${draft.id}`)).json.status).to.equal("pending");
  await service.caughtUp();
  return { ...tenant, told };
}

/** Submits another draft like the tenant's own and returns its id. */
async function draftLike({ ask, ids }: Tenant, more: object = {}): Promise<string> {
  const original = (await ask(`GET /v1/drafts/${ids.drafts}`)).json;
  const { thread_id, identity_id, based_on_message_id, body_text, body_html } = original;
  const json = { thread_id, identity_id, based_on_message_id, body_text, body_html, ...more };
  return (await ask("POST /v1/drafts", { json })).json.id;
}

/** Submits a draft with a file, for the pages that offer its download. */
export const attachOne = (tenant: Tenant): Promise<string> =>
  draftLike(tenant, { attachments: [{ filename: "a.txt", content_type: "text/plain", content: "TVo=" }] });

/** Submits and sends a draft, for the pages about sent mail. */
export async function sendOne(service: InProcess, tenant: Tenant): Promise<string> {
  const { ask } = tenant;
  const id = await draftLike(tenant);
  await ask(`POST /v1/drafts/${id}/approve`);
  await ask(`POST /v1/drafts/${id}/send`);
  await until(async () => (await ask(`GET /v1/drafts/${id}`)).json.status === "sent");
  await service.caughtUp();
  return id;
}

/** Delivers an automatic reply, and returns its entry in the ledger. A hostile tenant's has payloads. */
export async function putOneAside(service: InProcess, tenant: Tenant | HostileTenant): Promise<string> {
  const { ask, ids } = tenant;
  const { email_address: to } = (await ask(`GET /v1/identities/${ids.identities}`)).json;
  const { write } = "told" in tenant ? tenant.told : writing(tenant);
  await service.deliver(to, `X-Autoreply: yes\r\n${strangersMail(write, "a mail put aside", { to })}`);
  return (await ask("GET /v1/inbound?limit=1")).json.data[0].id;
}
