import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { updateContact } from "#src/commands/contacts.ts";
import { deliveryStream } from "#streams/delivery/events.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import type { Authentication, ContactStatus } from "#streams/thread/events.ts";
import { operator } from "#test/support/cause.ts";
import { authentication } from "#test/support/examples/index.ts";
import { type InProcess, mail, startInProcess, until } from "#test/support/inProcess.ts";

export const proof = authentication();
export const claim = authentication({ spf: "fail", dkim: "none", dmarc: "fail", aligned: false });
export const ann = "ann@customer.example";

export const when = (field: string, value: string, op = "equals") => ({
  operator: "AND",
  conditions: [{ field, op, value }],
});
export const trusted = when("contact.status", "trusted");

/** Starts the service for the tests of one describe. Mail is authenticated as proven unless `say` is called. */
export function useRules(environment: Record<string, string> = {}) {
  let service: InProcess;
  let said: Authentication | Promise<Authentication>;

  before(async () => {
    service = await startInProcess(environment);
    service.deps.authenticator.authenticate = async () => said;
  });
  beforeEach(() => {
    said = proof;
  });
  after(() => service?.stop());

  /** Makes a workspace with one identity. Returns what its rules, a customer and an agent can do. */
  async function world(settings: Partial<IdentitySettings> = {}) {
    const { id, ask } = await service.workspace();
    const identity = await service.identity(id, settings);
    const get = async (path: string) => (await ask(`GET ${path}`)).json;
    /** Waits until all mail is authenticated, which happens a moment after filing. */
    const judged = () => {
      const unjudged = `select 1 from read.messages
        where workspace_id = $1 and direction = 'inbound' and authentication is null`;
      return until(async () => (await service.database.owner.query(unjudged, [id])).rows.length === 0);
    };
    return {
      id,
      ask,
      judged,
      identity,
      get,
      async rule(trigger_event: string, actions: object[], more: object = {}): Promise<any> {
        const { status, json } = await ask("POST /v1/rules", {
          json: { name: "Rule", trigger_event, actions, ...more },
        });
        expect(status, JSON.stringify(json)).to.equal(200);
        return json;
      },
      /** Waits until rules wait for a sender's proof, and advances the clock beyond that wait. */
      async proofIsLate() {
        const waiting = "select 1 from work.items where timer like 'created:%'";
        await until(async () => (await service.database.query(waiting)).rows.length > 0);
        service.clock.advance(10_000);
      },
      async contact(status: ContactStatus, tags: string[] = []) {
        const changes = { status, tags };
        await updateContact(service.deps, { workspaceId: id, email: ann, changes }, operator(id));
      },
      async mail(options: { subject?: string; text?: string; inReplyTo?: string; id?: string; from?: string } = {}) {
        const named = options.id ?? `${randomUUID()}@customer.example`;
        await service.deliver(identity.address, mail({ ...options, id: named, to: identity.address }));
        if (!(said instanceof Promise)) await judged();
        const { data } = await get(`/v1/threads?identity_id=${identity.id}`);
        const thread = await get(`/v1/threads/${data[0].id}`);
        return { thread, message: thread.messages.at(-1), rfcId: named };
      },
      async draft({ thread, message }: { thread: any; message: any }, more: object = {}): Promise<any> {
        const json = {
          thread_id: thread.id,
          identity_id: identity.id,
          based_on_message_id: message.id,
          body_text: "Soon.",
          ...more,
        };
        const answer = await ask("POST /v1/drafts", { json });
        expect(answer.status, JSON.stringify(answer.json)).to.equal(201);
        return answer.json;
      },
      evaluations: async (rule: any) => (await get(`/v1/rules/${rule.id}/evaluations`)).data as any[],
      /** Waits until all actions are done, and returns the rule's only evaluation. */
      async settled(rule: any): Promise<any> {
        let found: any[] = [];
        await until(async () => {
          found = (await get(`/v1/rules/${rule.id}/evaluations`)).data;
          return found.length > 0 && found.every(({ actions }) => actions.every((a: any) => a.outcome !== "pending"));
        });
        expect(found).to.have.length(1);
        return found[0];
      },
      status: async (draftId: string) => (await get(`/v1/drafts/${draftId}`)).status,
      async becomes(draftId: string, status: string) {
        await until(async () => (await get(`/v1/drafts/${draftId}`)).status === status).catch(async (error) => {
          const { data } = await get(`/v1/drafts/${draftId}/history`);
          throw new Error(`${error.message} (${data.map((event: any) => event.type)})`);
        });
        return get(`/v1/drafts/${draftId}`);
      },
      becomesHeld: (draftId: string, code: string) =>
        until(async () => (await get(`/v1/drafts/${draftId}`)).held_code === code),
      rulesApplied: (draftId: string) =>
        until(async () => {
          const { data } = await get(`/v1/drafts/${draftId}/history?limit=100`);
          return data.some((event: any) => event.type === "DraftRulesApplied");
        }),
    };
  }

  const eventsOf = async (stream: string, type: string) =>
    (await service.deps.store.read(stream)).filter((event) => event.type === type);

  /** Records a delivery unless it is already recorded. */
  async function confirmDelivery(draftId: string): Promise<void> {
    const { state } = await service.deps.drafts.load(draftId);
    const stream = deliveryStream(state.attemptId as string);
    // The stream's end is read first, so that a delivery recorded meanwhile is a conflict and not a second one.
    const last = await service.deps.store.readLast(stream);
    if ((await eventsOf(stream, "DeliveryDelivered")).length > 0) return;
    const data = { draftId, threadId: state.threadId, messageId: state.messageId, evidence: "test" };
    const metadata = { ...operator(state.workspaceId), at: new Date().toISOString() };
    const delivered = { id: randomUUID(), type: "DeliveryDelivered", data, metadata };
    await service.deps.store.append(stream, last!.revision, [delivered]).catch(() => undefined);
  }

  return {
    get service() {
      return service;
    },
    say(next: typeof said) {
      said = next;
    },
    world,
    eventsOf,
    confirmDelivery,
  };
}
