import { expect } from "chai";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { approveDraft, sendDraft } from "#src/commands/drafts/drafts.ts";
import { sendDirectly } from "#src/commands/emails/directSends.ts";
import { updateWorkspace } from "#src/commands/workspaces.ts";
import { systemIds } from "#src/platform/clock.ts";
import { refreshDraftContents } from "#src/processes/refreshDraftContents.ts";
import { Rejected } from "#streams/decider.ts";
import type { Recorded } from "#streams/event.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { emptyReads } from "#test/support/emptyReads.ts";
import { tell } from "#test/support/processContext.ts";
import { expectSound } from "./sendSoundness.ts";
import { cause, createSendWorld, identityId, type SendWorld, workspaceId } from "./sendWorld.ts";

type Ended = { code: string; details: Record<string, unknown> };

/** An identity changes, and the send and the process that makes the new version run in any order. */
describe("a send after its identity changed", () => {
  async function world({ approve = false } = {}) {
    const made = await createSendWorld();
    const draftId = await made.submit();
    if (approve) await approveDraft(made.node, { workspaceId, draftId, ifVersion: null }, cause);
    await changeSignature(made);
    return { made, draftId };
  }
  const changeSignature = (made: SendWorld, on = made.node) => {
    const command = { type: "UpdateIdentity", changes: { signatureText: "Yours, Ann" }, mayLoosen: true } as const;
    return on.identities.handle(identityId, command, cause);
  };
  const outcome = (work: Promise<unknown>): Promise<Ended> =>
    work.then(
      () => ({ code: "queued", details: {} }),
      (error) => {
        if (!(error instanceof Rejected)) throw error;
        return { code: error.code, details: error.details };
      },
    );
  const send = (made: SendWorld, draftId: string, ifVersion: number | null = null) =>
    sendOn(made.createNode(), draftId, ifVersion);
  const sendOn = (node: Dependencies, draftId: string, ifVersion: number | null = null) =>
    outcome(sendDraft(node, { workspaceId, draftId, ifVersion }, cause));
  /** Runs the process for the change, on a separate instance. */
  const refresh = async (made: SendWorld, draftId: string, on = made.createNode()) => {
    const reads = {
      ...emptyReads,
      of: () => ({ query: async () => ({ rows: [{ id: draftId }], rowCount: 1 }) }),
    } as never;
    const changed = made.log.all.filter(({ type }) => type === "IdentityUpdated").at(-1) as Recorded;
    await tell(refreshDraftContents({ ...on, reads }), changed);
  };

  const orders: [string, (made: SendWorld, draftId: string, ifVersion: number | null) => Promise<Ended>][] = [
    [
      "the send is faster",
      async (made, draftId, ifVersion) => {
        const ended = await send(made, draftId, ifVersion);
        await refresh(made, draftId);
        return ended;
      },
    ],
    [
      "the process is faster",
      async (made, draftId, ifVersion) => {
        await refresh(made, draftId);
        return send(made, draftId, ifVersion);
      },
    ],
    [
      "the process comes while the send makes the new version",
      async (made, draftId, ifVersion) => {
        const node = made.createNode();
        const { reached, release } = node.faulty.pause("draft");
        const sending = sendOn(node, draftId, ifVersion);
        await reached;
        await refresh(made, draftId);
        release();
        return sending;
      },
    ],
    [
      "the send comes while the process makes the new version",
      async (made, draftId, ifVersion) => {
        const node = made.createNode();
        const { reached, release } = node.faulty.pause("draft");
        const refreshing = refresh(made, draftId, node);
        await reached;
        const ended = await send(made, draftId, ifVersion);
        release();
        await refreshing;
        return ended;
      },
    ],
  ];

  for (const [order, run] of orders) {
    describe(`where ${order}`, () => {
      it(`a send is refused with content_changed until the new version is decided, where ${order} [d3 content_changed]`, async () => {
        for (const decide of ["approve", "If-Match"] as const) {
          const { made, draftId } = await world({ approve: true });
          const first = await run(made, draftId, null);
          const { version, contentSha256, status } = await made.state.draft(draftId);
          expect([version, status]).to.deep.equal([2, "pending"]);
          const refused = { code: "content_changed", details: { version: 2, content_sha256: contentSha256 } };
          expect(first).to.deep.equal(refused);
          expect(await send(made, draftId)).to.deep.equal(refused);
          expect((await send(made, draftId, 1)).code).to.equal("version_mismatch");
          if (decide === "approve") await approveDraft(made.node, { workspaceId, draftId, ifVersion: 2 }, cause);
          expect((await send(made, draftId, decide === "approve" ? null : 2)).code).to.equal("queued");
          await made.run();
          expect(made.hands).to.have.length(1);
          await expectSound(made, [draftId], ["sent"]);
        }
      });

      it(`a send that names the old version is refused, where ${order} [d3 version_mismatch]`, async () => {
        const { made, draftId } = await world({ approve: true });
        expect(await run(made, draftId, 1)).to.deep.equal({ code: "version_mismatch", details: { version: 2 } });
        await made.run();
        expect(made.hands).to.have.length(0);
      });

      it(`a send reports the changed content before any other obstacle, where ${order}`, async () => {
        const { made, draftId } = await world({ approve: true });
        await updateWorkspace(made.node, { workspaceId, sendingPaused: true }, cause);
        expect((await run(made, draftId, null)).code).to.equal("content_changed");
        expect((await send(made, draftId, 2)).code).to.equal("sending_paused");
      });

      it(`a send of a draft that was never approved sends the new version, where ${order}`, async () => {
        const { made, draftId } = await world();
        expect((await run(made, draftId, null)).code).to.equal("queued");
        await made.run();
        const queued = made.log.all.filter(({ type }) => type === "DraftQueued");
        expect(queued.map(({ data }) => [data.version, (data.content as any).signature_text])).to.deep.equal([
          [2, "Yours, Ann"],
        ]);
        await expectSound(made, [draftId], ["sent"]);
      });
    });
  }

  it("a send that meets the new version only after its claim is judged by that version", async () => {
    for (const approve of [true, false]) {
      const made = await createSendWorld();
      const draftId = await made.submit();
      if (approve) await approveDraft(made.node, { workspaceId, draftId, ifVersion: null }, cause);
      const node = made.createNode();
      const { reached, release } = node.faulty.pause("quota");
      const sending = sendOn(node, draftId);
      await reached;
      await changeSignature(made);
      await refresh(made, draftId);
      release();
      expect((await sending).code).to.equal(approve ? "content_changed" : "queued");
      await made.run();
      await expectSound(made, [draftId], [approve ? "pending" : "sent"]);
      expect(made.hands).to.have.length(approve ? 0 : 1);
    }
  });

  it("a mail written and sent in one call has the new signature, wherever the identity changes", async () => {
    for (const meets of ["draft", "thread", "quota"] as const) {
      const made = await createSendWorld();
      const [draftId, changing, node] = [systemIds.uuid(), made.createNode(), made.createNode()];
      // The first append to the draft is its submission, so the change comes before its queueing.
      const { reached, release } = node.faulty.pause(meets);
      const { messageId, number } = (await made.state.thread()).newestWord!;
      const receivedAt = new Date(0).toISOString();
      const basedOn = { messageId, number, receivedAt, answers: { threadId: made.threadId(), revision: 1 } };
      const letter = { content: draftContent(), making: { htmlRemoved: [] }, metadata: null };
      const facts = { threadId: made.threadId(), basedOn, ...letter };
      const draft = { kind: "send", draftId, workspaceId, identityId, ...facts } as const;
      const sending = sendDirectly(node, draft, cause);
      await reached;
      await changeSignature(made, changing);
      if (meets !== "draft") await refresh(made, draftId, changing);
      release();
      expect((await sending).status).to.equal("sending");
      await made.run();
      const queued = made.log.all.filter(({ type }) => type === "DraftQueued");
      expect(queued.map(({ data }) => (data.content as any).signature_text)).to.deep.equal(["Yours, Ann"]);
      await expectSound(made, [draftId], ["sent"]);
    }
  });
});
