import { expect } from "chai";
import type { OutgoingMail } from "#src/mail/mailProvider.ts";
import type { Timer } from "#src/processes/process.ts";
import { tellOutcomes } from "#src/processes/tellOutcomes.ts";
import type { Actor } from "#streams/event.ts";
import { asked, queued, sent as sentExample } from "#test/support/examples/drafts.ts";
import { fire, tell } from "#test/support/processContext.ts";
import { failingProvider } from "./failingProvider.ts";
import { cause, createSendWorld, identityId } from "./sendWorld.ts";

const email = (to: string) => ({ type: "email" as const, config: { to } });
const first = "first@approvers.example";
const second = "second@approvers.example";
const day = 24 * 3_600_000;
const link = (id: string): Actor => ({ kind: "email_link", id, channel: "email" });

/** A draft about which both approvers were asked, and the process; the provider refuses the first `failures` mails. */
async function world({ failures = 0, slots = ["primary", "secondary"] as ("primary" | "secondary")[] } = {}) {
  const made = await createSendWorld();
  const changes = {
    approvalChannel: email(first),
    secondaryApprovalChannel: email(second),
    escalationDelayMinutes: 600,
  };
  await made.node.identities.handle(identityId, { type: "UpdateIdentity", changes, mayLoosen: true }, cause);
  const draftId = await made.submit();
  const sent: OutgoingMail[] = [];
  const process = tellOutcomes(made.node, failingProvider(sent, failures));
  const timers: Timer[] = [];
  let position = made.log.all.length;
  const handle = (command: Parameters<typeof made.node.drafts.handle>[1], actor = cause.actor) =>
    made.node.drafts.handle(draftId, command, { ...cause, actor });

  async function ask(
    slot: "primary" | "secondary",
    { reached = true, address = slot === "primary" ? first : second } = {},
  ) {
    const { version } = await made.state.draft(draftId);
    const notificationId = made.node.ids.uuid();
    await handle({ type: "AskApprovers", asked: asked(notificationId, { version, slot, address }).data });
    if (reached) await handle({ type: "RecordNotified", notificationId });
    else await handle({ type: "RecordNotificationFailed", notificationId, error: "busy", final: true });
    return notificationId;
  }
  for (const slot of slots) await ask(slot);

  return {
    ...made,
    draftId,
    sent,
    timers,
    ask,
    handle,
    approve: (actor: Actor, sendRequested = true) =>
      handle(
        { type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested, tokenSha256: "token" },
        actor,
      ),
    reject: (actor: Actor, reason: string | null = null) =>
      handle({ type: "RejectDraft", reason, ifVersion: null, tokenSha256: null }, actor),
    /** Hands all new events to the process, and returns the notified approvers with the subjects' first words. */
    async told() {
      await made.drain();
      sent.length = 0;
      for (; position < made.log.all.length; position++) {
        const event = made.log.all[position]!;
        if (event.stream.startsWith("draft-")) await tell(process, event, { timers });
      }
      return sent.map(
        ({ envelope, mime }) => `${envelope.to[0]!.split("@")[0]}: ${/^Subject: (\w+)/m.exec(mime.toString())![1]}`,
      );
    },
    /** Returns the mail's text without the zero-width characters that keep addresses from becoming links. */
    body: () =>
      sent[0]!.mime
        .toString()
        .replace(/=\r?\n/g, "")
        .replaceAll("=E2=80=8C", "")
        .replaceAll("=E2=80=9C", "“")
        .replaceAll("=E2=80=9D", "”"),
    fire: (timer: Timer) => fire(process, timer, { timers }),
  };
}

describe("tellOutcomes", () => {
  it("approvers are notified of a sent mail and its approver, except the one who pressed", async () => {
    const { approve, run, told, body } = await world();
    await approve(link(first));
    await run();
    expect(await told()).to.deep.equal(["second: Sent"]);
    expect(body()).to.include(`It was approved by ${first} by a link in an approval mail.`);
  });

  it("an approver who is asked alone is not notified of a mail approved by link", async () => {
    const { approve, run, told } = await world({ slots: ["primary"] });
    await approve(link(first));
    await run();
    expect(await told()).to.deep.equal([]);
  });

  it("all approvers are notified of a draft that failed after its approval", async () => {
    const { approve, run, told, answer, body } = await world();
    answer({ kind: "refused", code: "550", message: "550 no such mailbox", retryable: false });
    await approve(link(first));
    await run();
    expect(await told()).to.deep.equal(["first: Failed", "second: Failed"]);
    expect(body()).to.include("550 no such mailbox");
  });

  it("no outcome is sent for an unconfirmed draft, which has its own notification", async () => {
    const { approve, run, told, answer } = await world();
    answer({ kind: "unknown", message: "the connection was lost" });
    await approve(link(first));
    await run();
    expect(await told()).to.deep.equal([]);
  });

  it("approvers are notified of a draft that became stale, except the one whose press showed it", async () => {
    const later = await world();
    await later.approve(link(first));
    const stale = { type: "MarkStale", newMessageId: "newer", attemptId: null } as const;
    await later.handle(stale, { kind: "system", id: "sendApproved" });
    expect(await later.told()).to.deep.equal(["first: Stopped", "second: Stopped"]);
    await later.reject({ kind: "api_key", id: "key", name: "agent" });
    expect(await later.told(), "it is put away").to.deep.equal([]);
    const atOnce = await world();
    await atOnce.handle(stale, link(first));
    expect(await atOnce.told()).to.deep.equal(["second: Stopped"]);
  });

  it("approvers are notified of a rejection with its author and reason, except the author", async () => {
    const { reject, told, body } = await world();
    await reject(link(second), "Offer the\r\n\r\nrefund");
    expect(await told()).to.deep.equal(["first: Rejected"]);
    expect(body()).to.include(`rejected by ${second} by a link`).and.to.include("“Offer the refund”");
  });

  it("approvers are notified once of an approval that does not send, and not of the later send", async () => {
    const { approve, handle, state, draftId, told, body } = await world();
    const key: Actor = { kind: "api_key", id: "key", name: "agent\u202e” by ann" };
    await approve(key, false);
    expect(await told()).to.deep.equal(["first: Approved", "second: Approved"]);
    expect(body()).to.include("approved by the API key “agent").and.to.include("not sent yet");
    expect(body()).not.to.include("\u202e");
    const { contentSha256 } = await state.draft(draftId);
    await handle({ type: "QueueDraft", queued: queued(1, { contentSha256 }).data });
    await handle({ type: "RecordSent", ...sentExample().data });
    expect(await told()).to.deep.equal([]);
  });

  it("approvers are notified of an edit unless they are asked about the new version", async () => {
    const { edit, draftId, ask, reject, told } = await world();
    await edit(draftId, "Another answer.");
    expect(await told()).to.deep.equal(["second: Changed"]);
    await ask("primary");
    await edit(draftId, "A third one.");
    await ask("primary");
    expect(await told(), "of each edit once").to.deep.equal([]);
    await reject({ kind: "api_key", id: "key" });
    expect(await told(), "of the end those asked about what ended").to.deep.equal(["first: Rejected"]);
  });

  it("approvers are not notified of versions made by the service, and of the end also those asked before", async () => {
    const { handle, state, draftId, ask, reject, told } = await world();
    const { stored, making } = await state.draft(draftId);
    const because = { because: "identity_changed" as const, changedFields: ["identity"], ifVersion: null };
    await handle({ type: "EditDraft", ...stored, ...making, ...because, contentSha256: "other", rationale: null });
    await ask("primary");
    expect(await told()).to.deep.equal([]);
    await reject({ kind: "api_key", id: "key" });
    expect(await told()).to.have.members(["first: Rejected", "second: Rejected"]);
  });

  it("approvers who were not reached or are no longer approvers are not notified", async () => {
    const { ask, reject, told, changeIdentity } = await world({ slots: [] });
    await ask("primary", { reached: false });
    const bounced = await ask("secondary");
    expect(bounced).to.be.a("string");
    await changeIdentity({ secondaryApprovalChannel: email("new@approvers.example") });
    await reject({ kind: "api_key", id: "key" });
    expect(await told()).to.deep.equal([]);
  });

  it("an outcome has no tenant's or stranger's words in its subject, and names the thread in its text", async () => {
    const { reject, told, sent, body } = await world();
    await reject({ kind: "api_key", id: "key", name: "agent" });
    await told();
    expect(sent[0]!.mime.toString()).to.match(/^Subject: Rejected: a mail you were asked about\r$/m);
    expect(body()).to.include("“My order”").and.to.include("support@agents.localhost");
    expect(sent[0]!.mime.toString().replace(/=\r?\n/g, "")).to.include("support=E2=80=8C@agents");
  });

  it("an outcome links to its draft instead of quoting ids, in the frame of every mail", async () => {
    const { reject, told, sent, draftId } = await world();
    await reject({ kind: "api_key", id: "key", name: "agent" });
    await told();
    const mime = sent[0]!.mime.toString().replace(/=\r?\n/g, "");
    expect(mime).to.match(new RegExp(`Open the draft:\r?\nhttp[^\\s]+/drafts/${draftId}\r?\n`));
    expect(mime).to.match(new RegExp(`<a href=3D"http[^"]+/drafts/${draftId}"[^>]*>Open the draft</a>`));
    expect(mime)
      .to.include("<h1")
      .and.not.to.match(/thread [0-9a-f]{8}-/);
  });

  it("an outcome is tried again with the same Message-ID, and not after a day", async () => {
    const { reject, told, timers, fire, sent, sleepThrough } = await world({ failures: 1 });
    await reject(link(second));
    expect(await told()).to.deep.equal([]);
    await fire(timers[0]!);
    await fire(timers[0]!);
    expect(sent.map(({ messageId }) => messageId)).to.have.length(2);
    expect(new Set(sent.map(({ messageId }) => messageId)).size).to.equal(1);
    sleepThrough(day + 1);
    await fire(timers[0]!);
    expect(sent).to.have.length(2);
  });
});
