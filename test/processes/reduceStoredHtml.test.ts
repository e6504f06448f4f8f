import { expect } from "chai";
import { contentSha256 } from "#src/commands/drafts/draftContents.ts";
import { noteDraft } from "#src/commands/threads/threads.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import { type DraftEvent, draftStream } from "#streams/draft/events.ts";
import { operator } from "#test/support/cause.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

const hidden = "<p>Hello</p><textarea>hidden</textarea>";

describe("HTML that was stored before it was reduced", function () {
  this.timeout(60_000);
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  let drafts = 0;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
    await service.deliver(identity.address, mail({ id: "q@customer.example" }));
  });
  after(() => service.stop());

  /** A draft as it was recorded before: its event tells nothing of a reduction. */
  async function oldDraft(different: Partial<DraftContent>, then?: "approved" | "sending") {
    const thread = (await workspace.ask(`GET /v1/threads?identity_id=${identity.id}`)).json.data[0];
    const { json } = await workspace.ask(`GET /v1/threads/${thread.id}`);
    const draftId = `0199aaaa-0000-7000-8000-${String(++drafts).padStart(12, "0")}`;
    const cause = operator(workspace.id);
    const content = draftContent({ from: { name: "Support", address: identity.address }, ...different });
    const hash = contentSha256(content);
    const draft: Extract<DraftEvent, { type: "DraftSubmitted" }>["data"] = {
      content,
      contentBlob: null,
      workspaceId: workspace.id,
      threadId: thread.id,
      identityId: identity.id,
      basedOnMessageId: json.messages[0].id,
      basedOnNumber: 1,
      messageId: draftId.replace("aaaa", "bbbb"),
      contentSha256: hash,
      rationale: null,
      metadata: null,
      staleWarning: false,
      autoApproved: false,
    };
    const stream = draftStream(draftId);
    if (then === undefined) {
      await service.deps.drafts.handle(draftId, { type: "SubmitDraft", draft }, cause);
    } else {
      // In one append, so that the process finds it decided.
      const data = { version: 1, contentSha256: hash, sendRequested: false, tokenSha256: null };
      const queued = {
        ...{
          content,
          contentBlob: null,
          version: 1,
          contentSha256: hash,
          threadId: thread.id,
          identityId: identity.id,
        },
        ...{ attemptId: draftId, messageId: draft.messageId, quotaStream: "quota-x-lifetime", reservationId: draftId },
        authorisation: { kind: "approval", approvedVersion: 1 } as const,
      };
      const events = [
        { type: "DraftSubmitted", data: draft },
        { type: "DraftApproved", data },
        ...(then === "sending" ? [{ type: "DraftQueued", data: queued }] : []),
      ];
      const metadata = { ...cause, at: new Date().toISOString() };
      const named = events.map((event) => ({ ...event, id: service.deps.ids.uuid(), metadata }));
      await service.deps.store.append(stream, -1, named);
    }
    const { revision } = await service.deps.drafts.load(draftId);
    const outcome = then ?? "pending";
    await noteDraft(service.deps, { threadId: thread.id, draftId, outcome, draftRevision: revision }, cause);
    return draftId;
  }

  const settled = async () => {
    const head = await service.deps.store.head();
    await until(async () => {
      const { rows } = await service.database.query<{ done: boolean }>(
        `select planned >= $1 and not exists (select from work.lanes where process = name) as done
         from work.planned where name = 'reduceStoredHtml'`,
        [head],
      );
      return rows[0]?.done === true;
    });
    await service.caughtUp();
  };
  const read = async (id: string) => (await workspace.ask(`GET /v1/drafts/${id}`)).json;

  it("is reduced in open drafts, which wait for a decision about their new version", async () => {
    const pending = await oldDraft({ body_html: hidden });
    const approved = await oldDraft({ body_html: hidden }, "approved");
    await until(async () => (await read(approved)).version === 2 && (await read(pending)).version === 2);
    for (const id of [pending, approved]) {
      const draft = await read(id);
      expect(draft).to.include({ status: "pending", body_html: "<p>Hello</p>", decided_by: null });
      expect(draft.html_removed).to.deep.equal([{ what: "element:textarea", count: 1 }]);
      const { data } = (await workspace.ask(`GET /v1/drafts/${id}/history`)).json;
      const edited = data.find((event: any) => event.type === "DraftEdited");
      expect([edited.data.because, edited.actor.id]).to.deep.equal(["html_reduced", "reduceStoredHtml"]);
    }
  });

  it("stays where it loses nothing, and in what is on its way", async () => {
    const same = await oldDraft({ body_html: "<p>Hello</p>" });
    const plain = await oldDraft({});
    const sending = await oldDraft({ body_html: hidden }, "sending");
    const marker = await oldDraft({ body_html: hidden });
    await until(async () => (await read(marker)).version === 2);
    await settled();
    for (const id of [same, plain, sending]) expect((await read(id)).version, id).to.equal(1);
  });

  it("is reduced in signatures, once, and their open drafts follow", async () => {
    const changes = { signatureHtml: "<p onclick='x'>Ann<script>1</script></p>", htmlRemoved: null };
    const command = { type: "UpdateIdentity", changes, mayLoosen: true } as const;
    await service.deps.identities.handle(identity.id, command, operator(workspace.id));
    const shown = async () => (await workspace.ask(`GET /v1/identities/${identity.id}`)).json;
    await until(async () => (await shown()).html_removed.length > 0);
    expect((await shown()).signature_html).to.equal("<p>Ann</p>");
    await settled();
    const { revision } = await service.deps.identities.load(identity.id);
    await oldDraft({});
    await settled();
    expect((await service.deps.identities.load(identity.id)).revision, "nothing more happens").to.equal(revision);
  });
});
