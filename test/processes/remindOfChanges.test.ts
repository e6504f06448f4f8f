import { expect } from "chai";
import type { InProcess } from "#test/support/inProcess.ts";
import { until } from "#test/support/inProcess.ts";
import type { StoryTenant } from "#test/support/story/story.ts";
import { startStory } from "#test/support/story/story.ts";

const minuteMs = 60_000;

describe("a reminder of requested changes", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  before(async () => {
    const approvalChannel = { type: "email" as const, config: { to: "boss@example.com" } };
    const secondaryApprovalChannel = { type: "email" as const, config: { to: "deputy@example.com" } };
    const identity = { approvalChannel, secondaryApprovalChannel, escalationDelayMinutes: 30 };
    ({ service, tenant } = await startStory({}, { identity }));
  });
  after(() => service.stop());

  const wordsOf = async (): Promise<string[]> =>
    (await service.outbox.newest(200)).map(({ text }) => text.replace(/\s+/g, " "));
  const typesOf = async (draft: { history(): Promise<any[]> }): Promise<string[]> =>
    (await draft.history()).map(({ type }) => type);

  it("an approver whose changes are not made in time is reminded once, the thread is marked, and the draft then escalates", async () => {
    const draft = await tenant.draft(await tenant.mail());
    const mail = await draft.approvalMail("boss@example.com");
    const url = service.url + new URL(mail.link()).pathname;
    const page = await (await fetch(url)).text();
    const form = page.split("<form").find((part) => part.includes('value="request_changes"')) ?? "";
    const nonce = /name="nonce" value="([^"]*)"/.exec(form)?.[1] ?? "";
    const fields = { decision: "request_changes", nonce, reason: "Mention the refund." };
    expect((await fetch(url, { method: "POST", body: new URLSearchParams(fields) })).status).to.equal(200);
    service.clock.advance(29 * minuteMs);
    await service.caughtUp();
    expect(await typesOf(draft)).to.not.include.members(["DraftEscalated"]);
    service.clock.advance(minuteMs + 1_000);
    await until(async () => (await typesOf(draft)).includes("ChangesReminded"));
    await until(async () => (await wordsOf()).some((text) => text.includes("has not made these changes")));
    const reminders = (await wordsOf()).filter((text) => text.includes("“Mention the refund.”"));
    expect(reminders).to.have.length(1);
    await until(async () => (await tenant.thread(draft.threadId)).needs_review === true);
    // Nothing of the delay had passed before the request, so the second approver is asked after all of it.
    expect(await typesOf(draft)).to.not.include("DraftEscalated");
    expect((await draft.read()).changes_requested.text).to.equal("Mention the refund.");
    service.clock.advance(31 * minuteMs);
    await until(async () => (await typesOf(draft)).includes("DraftEscalated"));
    expect((await typesOf(draft)).filter((type) => type === "ChangesReminded")).to.have.length(1);
  });

  it("requested changes that are made or withdrawn in time cause no reminder", async () => {
    const [edited, withdrawn] = [
      await tenant.draft(await tenant.mail()),
      await tenant.draft(await tenant.mail()),
    ] as const;
    for (const draft of [edited, withdrawn]) {
      const asked = await draft.ask("POST request-changes", { json: { text: "Shorter." } });
      expect(asked.status, asked.text).to.equal(200);
    }
    await edited.edit({ body_text: "Tomorrow." });
    expect((await withdrawn.ask("POST withdraw-changes-request")).status).to.equal(200);
    service.clock.advance(31 * minuteMs);
    // The escalation of the same drafts is due as well, and shows that the timers have run.
    for (const draft of [edited, withdrawn]) await until(async () => (await typesOf(draft)).includes("DraftEscalated"));
    for (const draft of [edited, withdrawn]) expect(await typesOf(draft)).to.not.include("ChangesReminded");
  });
});
