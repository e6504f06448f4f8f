import { expect } from "chai";
import { contactId } from "#src/commands/ids.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

describe("mail of a blocked contact [d8 contacts] [d5 blocked contact]", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  let mails = 0;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
  });
  after(() => service.stop());

  async function write(from: string, inReplyTo?: string) {
    const id = `b${++mails}@customer.example`;
    await service.deliver(identity.address, mail({ id, from, subject: `S ${mails}`, ...(inReplyTo && { inReplyTo }) }));
    return id;
  }
  const threadOf = async (id: string) => (await workspace.ask(`GET /v1/threads/${id}`)).json;
  const newestThread = async () =>
    threadOf((await workspace.ask(`GET /v1/threads?identity_id=${identity.id}&limit=1`)).json.data[0].id);
  const set = (email: string, status: string) =>
    workspace.ask(`PATCH /v1/contacts/${contactId(workspace.id, email)}`, { json: { status } });
  const statusOf = (id: string, status: string) => workspace.ask(`PATCH /v1/threads/${id}`, { json: { status } });
  const idsOf = ({ messages }: any): string[] => messages.map(({ id }: any) => id);
  const authenticated = (messageIds: string[]) =>
    until(async () => {
      const { rows } = await service.database.reads.ofAll.query(
        "select 1 from messages where id = any($1::uuid[]) and authentication is not null",
        [messageIds],
      );
      return rows.length === messageIds.length;
    });
  /** Of which of these messages integrators were told. */
  async function announced(messageIds: string[]) {
    await authenticated(messageIds);
    await service.caughtUp();
    const { rows } = await service.database.reads.ofAll.query<{ data: any }>(
      "select data from feed_events where type = 'email.received' and data->>'message_id' = any($1::text[])",
      [messageIds],
    );
    return rows.map(({ data }) => data.message_id);
  }

  it("is kept and flagged, makes drafts stale, and sets nothing else in motion", async () => {
    const id = await write("Bad <bad@spam.example>");
    const before = await newestThread();
    expect(before.messages[0].from_blocked_contact).to.equal(false);
    await authenticated(idsOf(before));
    const { json: draft } = await workspace.ask("POST /v1/drafts", {
      json: {
        thread_id: before.id,
        identity_id: identity.id,
        based_on_message_id: before.messages[0].id,
        body_text: "Yes?",
      },
    });
    expect((await set("bad@spam.example", "blocked")).status).to.equal(200);
    await statusOf(before.id, "waiting");
    await write("BAD@spam.example", id);
    const waiting = await threadOf(before.id);
    expect(waiting).to.include({ status: "waiting", needs_review: false, message_count: 2 });
    const blocked = waiting.messages[1];
    expect(blocked.from_blocked_contact).to.equal(true);
    await statusOf(before.id, "closed");
    await write("bad@spam.example", id);
    expect(await threadOf(before.id)).to.include({ status: "closed", needs_review: false, message_count: 3 });
    const stale = await workspace.ask(`POST /v1/drafts/${draft.id}/send`);
    expect(stale.json.error).to.equal("stale_draft");
    const after = await threadOf(before.id);
    expect(await announced(idsOf(after))).to.deep.equal(idsOf(before));
    expect((await threadOf(before.id)).needs_review).to.equal(false);
  });

  it("from a stranger to a thread does not ask for review; unblocked, the next mail counts again", async () => {
    await write("worse@spam.example");
    const theirs = await newestThread();
    await set("worse@spam.example", "blocked");
    const id = await write("ann@customer.example");
    const thread = await newestThread();
    expect(thread.id).not.to.equal(theirs.id);
    await write("worse@spam.example", id);
    await authenticated(idsOf(await threadOf(thread.id)));
    expect(await threadOf(thread.id)).to.include({ needs_review: false, message_count: 2 });
    await set("worse@spam.example", "unknown");
    await statusOf(thread.id, "waiting");
    await write("worse@spam.example", id);
    const after = await threadOf(thread.id);
    expect(after).to.include({ status: "open", message_count: 3 });
    expect(after.messages.map(({ from_blocked_contact }: any) => from_blocked_contact)).to.deep.equal([
      false,
      true,
      false,
    ]);
  });
});
