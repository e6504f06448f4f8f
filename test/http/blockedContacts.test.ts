import { expect } from "chai";
import { contactId } from "#src/commands/ids.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("mail of a blocked contact [d8 contacts] [d5 blocked contact]", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory());
  });
  after(() => service.stop());

  const set = (email: string, status: string) =>
    tenant.ask(`PATCH /v1/contacts/${contactId(tenant.id, email)}`, { json: { status } });
  const statusOf = (id: string, status: string) => tenant.ask(`PATCH /v1/threads/${id}`, { json: { status } });
  const idsOf = ({ messages }: any): string[] => messages.map(({ id }: any) => id);
  const authenticated = (messageIds: string[]) =>
    until(async () => {
      const { rows } = await service.database.reads.ofAll.query(
        "select 1 from messages where id = any($1::uuid[]) and authentication is not null",
        [messageIds],
      );
      return rows.length === messageIds.length;
    });
  /** Waits until the messages are authenticated; returns the ids of those that the feed announced. */
  async function announced(messageIds: string[]) {
    await authenticated(messageIds);
    await service.caughtUp();
    const { rows } = await service.database.reads.ofAll.query<{ data: any }>(
      "select data from feed_events where type = 'email.received' and data->>'message_id' = any($1::text[])",
      [messageIds],
    );
    return rows.map(({ data }) => data.message_id);
  }

  it("mail of a blocked contact is kept and flagged, makes drafts stale, and starts nothing else", async () => {
    const first = await tenant.mail({ from: "Bad <bad@spam.example>" });
    const before = await tenant.thread(first);
    expect(before.messages[0].from_blocked_contact).to.equal(false);
    await authenticated(idsOf(before));
    const draft = await tenant.draft(first);
    expect((await set("bad@spam.example", "blocked")).status).to.equal(200);
    await statusOf(before.id, "waiting");
    await tenant.mail({ from: "BAD@spam.example", inReplyTo: first });
    const waiting = await tenant.thread(first);
    expect(waiting).to.include({ status: "waiting", needs_review: false, message_count: 2 });
    const blocked = waiting.messages[1];
    expect(blocked.from_blocked_contact).to.equal(true);
    await statusOf(before.id, "closed");
    await tenant.mail({ from: "bad@spam.example", inReplyTo: first });
    expect(await tenant.thread(first)).to.include({ status: "closed", needs_review: false, message_count: 3 });
    expect((await draft.ask("POST send")).outcome).to.equal("409 stale_draft");
    const after = await tenant.thread(first);
    expect(await announced(idsOf(after))).to.deep.equal(idsOf(before));
    expect((await tenant.thread(first)).needs_review).to.equal(false);
  });

  it("mail of a blocked stranger to a thread asks for no review; after unblocking the next mail counts again", async () => {
    const theirs = await tenant.mail({ from: "worse@spam.example" });
    await set("worse@spam.example", "blocked");
    const anns = await tenant.mail({ from: "ann@customer.example" });
    expect(anns.threadId).not.to.equal(theirs.threadId);
    const intruding = { from: "worse@spam.example", inReplyTo: anns };
    await tenant.mail(intruding);
    await authenticated(idsOf(await tenant.thread(anns)));
    expect(await tenant.thread(anns)).to.include({ needs_review: false, message_count: 2 });
    await set("worse@spam.example", "unknown");
    await statusOf(anns.threadId, "waiting");
    await tenant.mail(intruding);
    const after = await tenant.thread(anns);
    expect(after).to.include({ status: "open", message_count: 3 });
    expect(after.messages.map(({ from_blocked_contact }: any) => from_blocked_contact)).to.deep.equal([
      false,
      true,
      false,
    ]);
  });
});
