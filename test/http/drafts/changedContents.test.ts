import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { updateIdentity } from "#src/commands/identities/identities.ts";
import type { HttpAnswer } from "#test/support/asking.ts";
import { operator } from "#test/support/cause.ts";
import { inFull } from "#test/support/full.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import { type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";
import { barrier } from "../framework/support.ts";

/** The new version is made by the send or by the service's process: the test decides which of them is first. */
describe("http: drafts of an identity that changed", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let question: StoryMail;
  before(async () => {
    ({ service, tenant } = await startStory());
    question = await tenant.mail();
  });
  after(() => service.stop());

  const submit = () => tenant.draft(question);
  const send = (draft: StoryDraft, headers: Record<string, string> = {}) =>
    draft.ask("POST send", { headers: { "Idempotency-Key": randomUUID(), ...headers } });

  /** Changes the signature. The process that refreshes drafts has then read the change, and waits until it is released. */
  async function changeSignature() {
    const { deps } = service;
    const { projected } = deps;
    const [seen, gate, done] = [barrier(), barrier(), barrier()];
    let knowPosition = (_: number) => {};
    const changedAt = new Promise<number>((resolve) => {
      knowPosition = resolve;
    });
    const before = await deps.store.head();
    deps.projected = async (position) => {
      if (position > before && position === (await changedAt)) {
        seen.open();
        await gate.opened;
        deps.projected = projected;
        done.open();
      }
      return projected(position);
    };
    const changes = { signatureText: `Yours, ${randomUUID()}` };
    const { position } = await updateIdentity(
      deps,
      { workspaceId: tenant.id, identityId: tenant.identity.id, changes, mayLoosen: true },
      operator(tenant.id),
    );
    knowPosition(position);
    await seen.opened;
    return {
      release: async () => {
        gate.open();
        await done.opened;
      },
    };
  }

  type Order = {
    order: string;
    sendDuring(draft: StoryDraft, refresh: { release(): Promise<void> }): Promise<HttpAnswer>;
  };
  const orders: readonly Order[] = [
    {
      order: "the send makes the new version",
      async sendDuring(draft, refresh) {
        const answer = await send(draft);
        await refresh.release();
        return answer;
      },
    },
    {
      order: "the service's process makes the new version",
      async sendDuring(draft, refresh) {
        await refresh.release();
        await draft.becomes(({ version }) => version === 2);
        return send(draft);
      },
    },
    {
      order: "the send and the process start at once",
      async sendDuring(draft, refresh) {
        const [answer] = await Promise.all([send(draft), refresh.release()]);
        return answer;
      },
    },
  ];
  for (const [turn, { order, sendDuring }] of orders.entries()) {
    it(`an approved draft whose identity changed is refused with 409 until somebody decides about the new version: ${order} [d3 content_changed]`, async () => {
      for (const decide of ["approve", "If-Match"].filter((_, n) => inFull || n === turn % 2)) {
        const draft = await submit();
        await draft.approve();
        const refused = await sendDuring(draft, await changeSignature());
        const now = await draft.read();
        expect([now.status, now.version]).to.deep.equal(["pending", 2]);
        for (const answer of [refused, await send(draft), await send(draft)]) {
          expect(answer.outcome).to.equal("409 content_changed");
          expect(answer.json).to.include({ version: 2, content_sha256: now.content_sha256 });
          expect(answer.json.message).to.contain('If-Match: "2"');
        }
        const older = await send(draft, { "If-Match": '"1"' });
        expect([older.outcome, older.json.version]).to.deep.equal(["412 version_mismatch", 2]);
        const second = { "If-Match": '"2"' };
        if (decide === "approve")
          expect((await draft.ask("POST approve", { headers: second })).outcome).to.equal("200");
        const sent = await send(draft, decide === "approve" ? {} : second);
        expect(sent.status, sent.text).to.equal(202);
        expect((await draft.becomes("sent")).decided_by.kind).to.equal("api_key");
      }
    });

    it(`a pending draft whose identity changed is sent in its new version: ${order}`, async () => {
      const draft = await submit();
      const sent = await sendDuring(draft, await changeSignature());
      expect(sent.status, sent.text).to.equal(202);
      expect((await draft.becomes("sent")).version).to.equal(2);
    });
  }

  it("a send with the same Idempotency-Key, with and without If-Match, is another request", async () => {
    const draft = await submit();
    await draft.approve();
    const refresh = await changeSignature();
    await refresh.release();
    await draft.becomes(({ version }) => version === 2);
    const key = { "Idempotency-Key": randomUUID() };
    expect((await send(draft, key)).status).to.equal(409);
    expect((await send(draft, { ...key, "If-Match": '"2"' })).outcome).to.equal("422 idempotency_mismatch");
    expect((await send(draft, key)).headers.get("idempotency-replayed")).to.equal("true");
    expect((await send(draft, { "If-Match": "*" })).status, "any version is no decision").to.equal(409);
  });
});
