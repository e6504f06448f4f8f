import { expect } from "chai";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import { operator } from "#test/support/cause.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

/** The running service with its work table. */
describe("sends that have to wait", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
  });
  after(() => service.stop());

  const pause = (paused: boolean) => workspace.ask("PATCH /v1/workspaces/me", { json: { sending_paused: paused } });
  const count = async (type: string): Promise<number> =>
    (await service.database.query<{ n: number }>("select count(*)::int as n from es.events where type = $1", [type]))
      .rows[0]!.n;
  const aside = async (process: string): Promise<number> =>
    (
      await service.database.query<{ n: number }>(
        "select count(*)::int as n from work.lanes where process = $1 and obstacles is not null",
        [process],
      )
    ).rows[0]!.n;
  const lanes = async (process: string): Promise<number> =>
    (
      await service.database.query<{ n: number }>("select count(*)::int as n from work.lanes where process = $1", [
        process,
      ])
    ).rows[0]!.n;
  /** Receives a mail without waiting for its filing. */
  async function acknowledge(raw: string): Promise<void> {
    const { resolve, accept } = createReception(service.deps);
    const recipient = (await resolve(identity.address))!;
    const remote = { ip: "192.0.2.1", helo: "mx.customer.example" };
    await accept({
      recipients: [{ recipient, address: identity.address }],
      from: "ann@customer.example",
      raw: Buffer.from(raw),
      remote,
    });
  }
  let mails = 0;
  /** Submits drafts, each on a separate mail, because a second answer to one mail needs another question. */
  async function submitMany(n: number): Promise<string[]> {
    const subjects = Array.from({ length: n }, () => `Question ${++mails}`);
    for (const subject of subjects)
      await service.deliver(
        identity.address,
        mail({ id: `${subject.replace(" ", "-")}@x.example`, subject, to: identity.address }),
      );
    const { data } = (await workspace.ask(`GET /v1/threads?identity_id=${identity.id}&limit=100`)).json;
    const submit = async (subject: string): Promise<string> => {
      const { id } = data.find((thread: { subject: string }) => thread.subject === subject);
      const { messages } = (await workspace.ask(`GET /v1/threads/${id}`)).json;
      const json = { thread_id: id, identity_id: identity.id, based_on_message_id: messages[0].id, body_text: "Here." };
      return (await workspace.ask("POST /v1/drafts", { json })).json.id;
    };
    return Promise.all(subjects.map(submit));
  }

  it("thirty drafts that wait for unfiled mail do not delay another identity's, and are sent once it is filed", async () => {
    const { blobs, settings } = service.deps;
    const get = blobs.get.bind(blobs);
    let stuck = true;
    // Only the mail with this text is stuck.
    blobs.get = async (sha256) => {
      const bytes = await get(sha256);
      return stuck && bytes?.includes("never filed") ? undefined : bytes;
    };
    // A process that waited this long would occupy its lane for the whole test.
    settings.barrierTimeoutMs = 60_000;
    const before = await count("DraftSent");
    const approve = { type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested: true } as const;
    const approveAll = (drafts: string[]) =>
      Promise.all(
        drafts.map((id) =>
          service.deps.drafts.handle(id, { ...approve, tokenSha256: "a person's" }, operator(workspace.id)),
        ),
      );
    const drafts = await submitMany(30);
    const other = await service.identity(workspace.id);
    await service.deliver(other.address, mail({ id: "other@x.example", to: other.address }));
    const threads = (await workspace.ask("GET /v1/threads")).json.data;
    const theirs = threads.find(({ identity_id }: { identity_id: string }) => identity_id === other.id);
    const { messages } = (await workspace.ask(`GET /v1/threads/${theirs.id}`)).json;
    const good = {
      thread_id: theirs.id,
      identity_id: other.id,
      based_on_message_id: messages[0].id,
      body_text: "Here.",
    };
    const goodId = (await workspace.ask("POST /v1/drafts", { json: good })).json.id;

    await acknowledge(mail({ id: "unfiled@x.example", to: identity.address, text: "never filed" }));
    await approveAll(drafts);
    await until(async () => (await lanes("sendApproved")) >= 24);
    await approveAll([goodId]);
    await until(async () => (await workspace.ask(`GET /v1/drafts/${goodId}`)).json.status === "sent");
    expect(await count("DraftSent")).to.equal(before + 1);
    stuck = false;
    await until(async () => (await count("DraftSent")) === before + 31);
  });

  it("approved drafts are set aside during a pause and sent when it ends", async () => {
    const before = await count("DraftSent");
    await pause(true);
    const approve = { type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested: true } as const;
    for (const draftId of await submitMany(8)) {
      await service.deps.drafts.handle(draftId, { ...approve, tokenSha256: "a person's" }, operator(workspace.id));
    }
    await until(async () => (await aside("sendApproved")) === 8);
    await pause(false);
    await until(async () => (await count("DraftSent")) === before + 8);
    expect(await aside("sendApproved")).to.equal(0);
  });

  it("no delivery starts after a pause was confirmed; all are sent when it ends, once, under their first claim", async () => {
    const before = await count("DraftQueued");
    const sends = (await submitMany(12)).map((draftId) => workspace.ask(`POST /v1/drafts/${draftId}/send`));
    await Promise.race(sends);
    await pause(true);
    const begun = await count("DeliveryStarted");
    await Promise.all(sends);
    const queued = await count("DraftQueued");
    await until(async () => (await aside("deliver")) === queued - begun);
    expect(await count("DeliveryStarted")).to.equal(begun);
    await pause(false);
    await until(async () => (await count("DraftSent")) === queued);
    expect(queued).to.be.above(before);
    expect([await count("DeliveryStarted"), await count("DraftRequeued")]).to.deep.equal([queued, 0]);
  });
});
