import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { createApiKey } from "#src/commands/apiKeys.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { replyEmail } from "#src/commands/emails/emails.ts";
import { quotaStreamOf } from "#src/commands/plans/quotas.ts";
import { createWorkspace } from "#src/commands/workspaces.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { operator } from "#test/support/cause.ts";
import { sized } from "#test/support/full.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

describe("direct sends while something else happens [d6 emails]", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  let mails = 0;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id, { canSendCold: true });
  });
  after(() => service.stop());

  const write = async (inReplyTo?: string, from?: string) => {
    const id = `race${++mails}@customer.example`;
    const raw = mail({ id, subject: `Race ${mails}`, ...(inReplyTo && { inReplyTo }), ...(from && { from }) });
    await service.deliver(identity.address, raw);
    return id;
  };
  const threadOf = async (id: string) => (await workspace.ask(`GET /v1/threads/${id}`)).json;
  async function opened() {
    const rfcId = await write();
    const { json } = await workspace.ask(`GET /v1/threads?identity_id=${identity.id}&limit=1`);
    const thread = await threadOf(json.data[0].id);
    return { rfcId, threadId: thread.id as string, messageId: thread.messages.at(-1).id as string };
  }
  const reply = (json: Record<string, unknown>, headers: Record<string, string> = {}) =>
    workspace.ask("POST /v1/emails/reply", { json: { body_text: "Here.", ...json }, headers });
  const settled = (threadId: string) =>
    until(async () => {
      await service.caughtUp();
      return (await threadOf(threadId)).drafts.every(
        ({ status }: any) => status !== "sending" && status !== "approved",
      );
    });

  it("of two replies while the customer writes, each is sent before the newer message or is stale [7 409 stale_draft]", async () => {
    for (let round = 0; round < sized(3, 8); round++) {
      const { rfcId, threadId, messageId } = await opened();
      const based = { thread_id: threadId, based_on_message_id: messageId };
      const [first, second] = await Promise.all([reply(based), reply(based), write(rfcId)]);
      await settled(threadId);
      const thread = await threadOf(threadId);
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
    const { rfcId, threadId, messageId } = await opened();
    const { deps, written } = writingMeanwhile(() => write(rfcId));
    const request = { workspaceId: workspace.id, threadId, basedOnMessageId: null, cc: [], bcc: [], replyAll: false };
    const letter = { bodyText: "Here.", bodyHtml: null, attachments: [] };
    const sent = await replyEmail(deps, { ...request, ...letter }, operator(workspace.id));
    expect(written()).to.equal(2);
    await settled(threadId);
    const { drafts, messages } = await threadOf(threadId);
    const inbound = messages.filter(({ direction }: any) => direction === "inbound");
    expect(inbound.map(({ id }: any) => id)[0]).to.equal(messageId);
    const based = drafts.find(({ id }: any) => id === sent.draftId).based_on_message_id;
    expect(based).to.equal(inbound.at(-1).id);
    expect(drafts.map(({ status }: any) => status)).to.deep.equal(["sent", "stale"]);
  });

  it("a reply that names no message is not sent to a third party who writes before its submission", async () => {
    const { rfcId, threadId } = await opened();
    const { deps } = writingMeanwhile(() => write(rfcId, "Eve <eve@elsewhere.example>"));
    const request = { workspaceId: workspace.id, threadId, basedOnMessageId: null, cc: [], bcc: [], replyAll: false };
    const letter = { bodyText: "Your password.", bodyHtml: null, attachments: [] };
    const code = await replyEmail(deps, { ...request, ...letter }, operator(workspace.id)).catch((error) => error.code);
    expect(code).to.equal("stale_draft");
    await settled(threadId);
    const { drafts } = await threadOf(threadId);
    expect(drafts.map(({ status }: any) => status)).to.deep.equal(["stale"]);
  });

  /** Lets somebody write between the look at the newest message and the claim: the very moment at which a claim finds a newer one. */
  function writingMeanwhile(somebodyWrites: () => Promise<unknown>) {
    let submissions = 0;
    const deps: Dependencies = {
      ...service.deps,
      drafts: {
        ...service.deps.drafts,
        handle: async (draftId, command, cause) => {
          const isSubmission = typeof command === "object" && command.type === "SubmitDraft";
          if (isSubmission && submissions++ === 0) await somebodyWrites();
          return service.deps.drafts.handle(draftId, command, cause);
        },
      },
    };
    return { deps, written: () => submissions };
  }

  it("parallel replies under one Idempotency-Key are one mail [d0 Idempotency-Key]", async () => {
    const { threadId } = await opened();
    const key = { "Idempotency-Key": randomUUID() };
    const answers = await Promise.all(Array.from({ length: 6 }, () => reply({ thread_id: threadId }, key)));
    for (const { status } of answers) expect(status).to.be.oneOf([202, 409]);
    const again = await reply({ thread_id: threadId }, key);
    expect(again.status).to.equal(202);
    await settled(threadId);
    const { drafts } = await threadOf(threadId);
    expect(drafts.map(({ id }: any) => id)).to.deep.equal([again.json.draft_id]);
  });

  it("of 50 parallel sends with 5 left in the plan exactly 5 are sent; the others are never sent later [8 outbound] [8 402 upgrade_url] [7 402 plan_limit_reached] [4 POST /v1/emails/send]", async () => {
    const { deps } = service;
    const plan = { name: "Small", plan: "builder_pack", betaOverride: false } as const;
    const { workspaceId } = await createWorkspace(deps, plan, operator());
    const cause = operator(workspaceId);
    const { key } = await createApiKey(deps, { workspaceId, name: "small", scopes: allScopes }, cause);
    const small = await service.identity(workspaceId, { canSendCold: true });
    const quotaStream = await quotaStreamOf(deps, workspaceId);
    const reservationIds = Array.from({ length: 45 }, () => randomUUID());
    await deps.quotas.handle(quotaStream, { type: "ReserveThoseThatFit", reservationIds, cap: 50 }, cause);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        workspace.ask("POST /v1/emails/send", {
          key,
          json: { identity_id: small.id, to: [`n${n}@x.example`], subject: `N ${n}`, body_text: "Hello." },
        }),
      ),
    );
    const accepted = answers.filter(({ status }) => status === 202);
    expect(accepted).to.have.length(5);
    for (const { status, json } of answers.filter((each) => !accepted.includes(each))) {
      expect(status).to.equal(402);
      expect(json.error).to.equal("plan_limit_reached");
      expect(json.upgrade_url).to.be.a("string");
    }
    const draftsOf = async () => (await workspace.ask("GET /v1/drafts?limit=100", { key })).json.data;
    await until(async () => (await draftsOf()).filter(({ status }: any) => status === "sent").length === 5);
    await service.caughtUp();
    // Whatever stayed behind of the others ended, for good.
    for (const { status, failure_code } of await draftsOf()) {
      if (status !== "sent")
        expect({ status, failure_code }).to.deep.equal({ status: "failed", failure_code: "plan_limit_reached" });
    }
    const threads = (await workspace.ask("GET /v1/threads?limit=100", { key })).json;
    expect(threads.data.map(({ id }: any) => id)).to.have.members(accepted.map(({ json }) => json.thread_id));
    expect((await workspace.ask("GET /v1/workspaces/me", { key })).json.emails_sent_this_period).to.equal(50);
    const left = (await service.outbox.newest(100)).filter(({ from }) => from.address === small.address);
    expect(left).to.have.length(5);
    const last = await workspace.ask("POST /v1/emails/send", {
      key,
      json: { identity_id: small.id, to: ["late@x.example"], subject: "Late", body_text: "Hello." },
    });
    expect(last.status).to.equal(402);
    expect((await draftsOf()).some(({ subject }: any) => subject === "Late")).to.equal(false);
  });

  it("a mail sent while its identity is renamed has the old or the new name, and is one draft", async () => {
    for (let round = 0; round < sized(2, 5); round++) {
      const name = `Round ${round}`;
      const [answer] = await Promise.all([
        workspace.ask("POST /v1/emails/send", {
          json: { identity_id: identity.id, to: [`r${round}@x.example`], subject: "Edited", body_text: "Hello." },
        }),
        workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { display_name: name } }),
      ]);
      expect(answer.status, answer.text).to.equal(202);
      await settled(answer.json.thread_id);
      const { drafts } = await threadOf(answer.json.thread_id);
      expect(drafts).to.have.length(1);
      expect(drafts[0]).to.deep.include({ status: "sent" });
      expect(drafts[0].decided_by.kind).to.equal("api_key");
      const { json: content } = await workspace.ask(`GET /v1/drafts/${drafts[0].id}/content`);
      expect(content.from.name).to.be.oneOf([name, round === 0 ? "Support" : `Round ${round - 1}`]);
    }
  });

  it("threads that a mail merged stay one, also for answers to mail of the absorbed one", async () => {
    const from = "merger@x.example";
    const outbound = async (threadId: string, count: number) => {
      await settled(threadId);
      await until(async () => (await threadOf(threadId)).message_count === count);
      return (await threadOf(threadId)).messages.at(-1).rfc_message_id as string;
    };
    // A conversation that we began, and whose last mail, ours, nobody has named yet.
    const begin = async (subject: string) => {
      const json = { identity_id: identity.id, to: [from], subject, body_text: "Hello." };
      const threadId: string = (await workspace.ask("POST /v1/emails/send", { json })).json.thread_id;
      const first = await outbound(threadId, 1);
      const answer = mail({ id: `${subject}@x.example`, from, inReplyTo: first.slice(1, -1) });
      await service.deliver(identity.address, answer);
      await reply({ thread_id: threadId });
      return { threadId, first, last: await outbound(threadId, 3) };
    };
    const [one, two] = [await begin("one"), await begin("two")];
    const joining = mail({ id: "join@x.example", from });
    const references = `References: ${one.first} ${two.first}\r\nMIME-Version:`;
    await service.deliver(identity.address, joining.replace("MIME-Version:", references));
    const counts = async () =>
      (await Promise.all([one, two].map(({ threadId }) => threadOf(threadId)))).map((thread) => thread.message_count);
    expect(await counts()).to.deep.equal([7, 7]);
    for (const [n, { last }] of [one, two].entries()) {
      await service.deliver(identity.address, mail({ id: `late${n}@x.example`, from, inReplyTo: last.slice(1, -1) }));
      expect(await counts(), `answer ${n}`).to.deep.equal([8 + n, 8 + n]);
    }
  });
});
