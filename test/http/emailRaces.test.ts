import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { replyEmail } from "#src/commands/emails/emails.ts";
import { quotaStreamOf } from "#src/commands/plans/quotas.ts";
import { operator } from "#test/support/cause.ts";
import { sized } from "#test/support/full.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import { openTenantOn } from "#test/support/story/plan.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("direct sends while something else happens [d6 emails]", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory({}, { identity: { canSendCold: true } }));
  });
  after(() => service.stop());

  const reply = (json: object, headers: Record<string, string> = {}) =>
    tenant.ask("POST /v1/emails/reply", { json: { body_text: "Here.", ...json }, headers });
  const send = (json: object, { ask, identity } = tenant) =>
    ask("POST /v1/emails/send", { json: { identity_id: identity.id, body_text: "Hello.", ...json } });
  /** Waits until no draft of the thread is being sent; returns the thread. */
  async function settled(threadId: string) {
    await until(async () => {
      await service.caughtUp();
      return (await tenant.thread(threadId)).drafts.every(
        ({ status }: any) => status !== "sending" && status !== "approved",
      );
    });
    return tenant.thread(threadId);
  }
  /** The request of a reply that names no message. */
  const unnamed = (threadId: string, bodyText: string) => ({
    ...{ workspaceId: tenant.id, threadId, basedOnMessageId: null, cc: [], bcc: [], replyAll: false },
    ...{ bodyText, bodyHtml: null, attachments: [] },
  });

  it("of two replies while the customer writes, each is sent before the newer message or is stale [7 409 stale_draft]", async () => {
    for (let round = 0; round < sized(3, 8); round++) {
      const mail = await tenant.mail();
      const { threadId } = mail;
      const based = { thread_id: threadId, based_on_message_id: mail.messageId };
      const [first, second] = await Promise.all([reply(based), reply(based), tenant.mail({ inReplyTo: mail })]);
      const thread = await settled(threadId);
      const newer = thread.messages.findLast(({ direction }: any) => direction === "inbound");
      const events = await service.deps.store.read(`thread-${threadId}`);
      const newerAt = events.find(({ type, data }) => type === "MessageReceived" && data.messageId === newer.id);
      for (const { status, json } of [first, second]) {
        expect(status, JSON.stringify(json)).to.be.oneOf([202, 409]);
        if (status === 409) {
          expect(json).to.include({ error: "stale_draft", new_message_id: newer.id });
          continue;
        }
        const draft = thread.drafts.find(({ id }: any) => id === json.draft_id);
        if (draft.status === "stale") continue;
        expect(draft.status).to.equal("sent");
        const claim = events.find(({ type, data }) => type === "SendClaimed" && data.draftId === draft.id);
        expect(claim?.revision).to.be.lessThan(newerAt?.revision as number);
      }
    }
  });

  it("a reply that names no message answers a newer one that arrives before its submission", async () => {
    const mail = await tenant.mail();
    const { deps, submissions } = beforeSubmission(() => tenant.mail({ inReplyTo: mail }));
    const sent = await replyEmail(deps, unnamed(mail.threadId, "Here."), operator(tenant.id));
    expect(submissions()).to.equal(2);
    const { drafts, messages } = await settled(mail.threadId);
    const inbound = messages.filter(({ direction }: any) => direction === "inbound");
    expect(inbound.map(({ id }: any) => id)[0]).to.equal(mail.messageId);
    const based = drafts.find(({ id }: any) => id === sent.draftId).based_on_message_id;
    expect(based).to.equal(inbound.at(-1).id);
    expect(drafts.map(({ status }: any) => status)).to.deep.equal(["sent", "stale"]);
  });

  it("a reply that names no message is not sent to a third party who writes before its submission", async () => {
    const mail = await tenant.mail();
    const { deps } = beforeSubmission(() => tenant.mail({ inReplyTo: mail, from: "Eve <eve@elsewhere.example>" }));
    const sent = replyEmail(deps, unnamed(mail.threadId, "Your password."), operator(tenant.id));
    expect(await sent.catch((error) => error.code)).to.equal("stale_draft");
    const { drafts } = await settled(mail.threadId);
    expect(drafts.map(({ status }: any) => status)).to.deep.equal(["stale"]);
  });

  /** Runs `action` after a reply has read the thread's newest message and before its draft is submitted. */
  function beforeSubmission(action: () => Promise<unknown>) {
    let submissions = 0;
    const deps: Dependencies = {
      ...service.deps,
      drafts: {
        ...service.deps.drafts,
        handle: async (draftId, command, cause) => {
          const isSubmission = typeof command === "object" && command.type === "SubmitDraft";
          if (isSubmission && submissions++ === 0) await action();
          return service.deps.drafts.handle(draftId, command, cause);
        },
      },
    };
    return { deps, submissions: () => submissions };
  }

  it("parallel replies under one Idempotency-Key are one mail [d0 Idempotency-Key]", async () => {
    const { threadId } = await tenant.mail();
    const key = { "Idempotency-Key": randomUUID() };
    const answers = await Promise.all(Array.from({ length: 6 }, () => reply({ thread_id: threadId }, key)));
    for (const { status } of answers) expect(status).to.be.oneOf([202, 409]);
    const again = await reply({ thread_id: threadId }, key);
    expect(again.status).to.equal(202);
    const { drafts } = await settled(threadId);
    expect(drafts.map(({ id }: any) => id)).to.deep.equal([again.json.draft_id]);
  });

  it("of 50 parallel sends with 5 left in the plan exactly 5 are sent; the others are never sent later [8 outbound] [8 402 upgrade_url] [7 402 plan_limit_reached] [4 POST /v1/emails/send]", async () => {
    const small = await openTenantOn(service, { plan: "builder_pack" }, { canSendCold: true });
    const quotaStream = await quotaStreamOf(service.deps, small.id);
    const reservationIds = Array.from({ length: 45 }, () => randomUUID());
    const reserve = { type: "ReserveThoseThatFit", reservationIds, cap: 50 } as const;
    await service.deps.quotas.handle(quotaStream, reserve, operator(small.id));
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => send({ to: [`n${n}@x.example`], subject: `N ${n}` }, small)),
    );
    const accepted = answers.filter(({ status }) => status === 202);
    expect(accepted).to.have.length(5);
    for (const { outcome, json } of answers.filter((each) => !accepted.includes(each))) {
      expect(outcome).to.equal("402 plan_limit_reached");
      expect(json.upgrade_url).to.be.a("string");
    }
    const draftsOf = async () => (await small.ask("GET /v1/drafts?limit=100")).json.data;
    await until(async () => (await draftsOf()).filter(({ status }: any) => status === "sent").length === 5);
    await service.caughtUp();
    // The drafts of refused sends have failed.
    for (const { status, failure_code } of await draftsOf()) {
      if (status !== "sent")
        expect({ status, failure_code }).to.deep.equal({ status: "failed", failure_code: "plan_limit_reached" });
    }
    const threads = (await small.ask("GET /v1/threads?limit=100")).json;
    expect(threads.data.map(({ id }: any) => id)).to.have.members(accepted.map(({ json }) => json.thread_id));
    expect((await small.usage()).emails_sent_this_period).to.equal(50);
    const sent = (await service.outbox.newest(100)).filter(({ from }) => from.address === small.identity.address);
    expect(sent).to.have.length(5);
    expect((await send({ to: ["late@x.example"], subject: "Late" }, small)).status).to.equal(402);
    expect((await draftsOf()).some(({ subject }: any) => subject === "Late")).to.equal(false);
  });

  it("a mail sent while its identity is renamed has the old or the new name, and is one draft", async () => {
    for (let round = 0; round < sized(2, 5); round++) {
      const name = `Round ${round}`;
      const [answer] = await Promise.all([
        send({ to: [`r${round}@x.example`], subject: "Edited" }),
        tenant.ask(`PATCH /v1/identities/${tenant.identity.id}`, { json: { display_name: name } }),
      ]);
      expect(answer.status, answer.text).to.equal(202);
      const { drafts } = await settled(answer.json.thread_id);
      expect(drafts).to.have.length(1);
      expect(drafts[0]).to.deep.include({ status: "sent" });
      expect(drafts[0].decided_by.kind).to.equal("api_key");
      const content = await (await tenant.draftWithId(drafts[0].id)).content();
      expect(content.from.name).to.be.oneOf([name, round === 0 ? "Support" : `Round ${round - 1}`]);
    }
  });

  it("threads that a mail merged stay one, also for answers to mail of the absorbed one", async () => {
    const from = "merger@x.example";
    const outbound = async (threadId: string, count: number) => {
      await settled(threadId);
      await until(async () => (await tenant.thread(threadId)).message_count === count);
      return (await tenant.thread(threadId)).messages.at(-1).rfc_message_id as string;
    };
    // A conversation that the agent began; its last mail, the agent's, is not answered yet.
    const begin = async (subject: string) => {
      const threadId: string = (await send({ to: [from], subject })).json.thread_id;
      const first = await outbound(threadId, 1);
      await tenant.mail({ from, inReplyTo: first.slice(1, -1) });
      await reply({ thread_id: threadId });
      return { threadId, first, last: await outbound(threadId, 3) };
    };
    const [one, two] = [await begin("one"), await begin("two")];
    await tenant.mail({ from, headers: [`References: ${one.first} ${two.first}`] });
    const counts = async () => (await Promise.all([one, two].map(tenant.thread))).map((thread) => thread.message_count);
    expect(await counts()).to.deep.equal([7, 7]);
    for (const [n, { last }] of [one, two].entries()) {
      await tenant.mail({ from, inReplyTo: last.slice(1, -1) });
      expect(await counts(), `answer ${n}`).to.deep.equal([8 + n, 8 + n]);
    }
  });
});
