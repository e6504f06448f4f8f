import { expect } from "chai";
import { operator } from "#test/support/cause.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

/** On the running service, with its work table. */
describe("sends of a workspace that is paused", function () {
  this.timeout(60_000);
  let service: InProcess;
  let workspace: Workspace;
  let base: object;
  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    const identity = await service.identity(workspace.id);
    await service.deliver(identity.address, mail({ id: "question@x.example" }));
    const [thread] = (await workspace.ask("GET /v1/threads")).json.data;
    const { messages } = (await workspace.ask(`GET /v1/threads/${thread.id}`)).json;
    base = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages[0].id, body_text: "Here." };
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
  const submit = async (): Promise<string> => (await workspace.ask("POST /v1/drafts", { json: base })).json.id;
  const submitMany = (n: number): Promise<string[]> => Promise.all(Array.from({ length: n }, submit));

  it("are set aside when approved, and leave when the pause ends", async () => {
    await pause(true);
    const approve = { type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested: true } as const;
    for (const draftId of await submitMany(8)) {
      await service.deps.drafts.handle(draftId, { ...approve, tokenSha256: "a person's" }, operator(workspace.id));
    }
    await until(async () => (await aside("sendApproved")) === 8);
    await pause(false);
    await until(async () => (await count("DraftSent")) === 8);
    expect(await aside("sendApproved")).to.equal(0);
  });

  it("are not begun once the pause was answered, and leave when it ends, each once and under its first claim", async () => {
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
