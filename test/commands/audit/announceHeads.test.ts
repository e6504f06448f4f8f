import { expect } from "chai";
import { readCheckpoint } from "#src/audit/checkpoint.ts";
import { type AnnounceDependencies, announceHeads } from "#src/commands/audit/announceHeads.ts";
import { type GrownTreesDependencies, signGrownTrees } from "#src/commands/audit/signGrownTrees.ts";
import { signHead } from "#src/commands/audit/signHead.ts";
import { disableWebhook } from "#src/commands/webhooks.ts";
import { operator } from "#test/support/cause.ts";
import { type InProcess, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { startReceiver } from "#test/support/webhookReceiver.ts";
import { webhook } from "../../processes/webhookWorld.ts";

describe("announcing heads of audit trees to webhooks", () => {
  let service: InProcess;
  let receiver: Awaited<ReturnType<typeof startReceiver>>;
  let workspace: Workspace;
  let deps: AnnounceDependencies & GrownTreesDependencies;

  before(async () => {
    service = await startInProcess({ WEBHOOK_ALLOWED_HOSTS: "127.0.0.1", WEBHOOK_RETRY_SECONDS: "0" });
    receiver = await startReceiver();
  });
  after(async () => {
    await receiver?.stop();
    await service?.stop();
  });
  beforeEach(async () => {
    deps = { ...service.deps, deliveries: service.webhookDeliveries, witnesses: [] };
    workspace = await service.workspace();
  });

  const grow = async () => {
    await workspace.ask("POST /v1/assistants", { json: { name: "Ann" } });
    await service.caughtUp();
  };
  const onRefusal = () => undefined;
  const passing = {
    onError: (error: unknown) => expect.fail(String(error)),
    onRefusal,
    stopping: new AbortController().signal,
  };
  /** Does the work of a minute of the clock of heads. */
  const tick = async (
    changed: Partial<AnnounceDependencies> = {},
    options: Parameters<typeof announceHeads>[1] = passing,
  ) => {
    await signGrownTrees(deps, passing);
    await announceHeads({ ...deps, ...changed }, options);
  };
  const announced = () => receiver.requests.filter(({ body }) => body.workspace_id === workspace.id);
  const deliveries = async (id: string) => (await workspace.ask(`GET /v1/webhooks/${id}/deliveries`)).json.data;

  it("a webhook that asks for heads receives each hourly head once, as it was signed", async () => {
    await webhook(workspace.ask, receiver.url, ["audit.checkpoint"]);
    await grow();
    await tick();
    await tick();
    await until(async () => announced().length > 0);
    const head = (await deps.auditHeads.newest(workspace.id))!;
    const [{ body } = { body: undefined }] = announced();
    expect(body).to.deep.equal({
      id: body.id,
      type: "audit.checkpoint",
      created_at: head.signedAt.toISOString(),
      workspace_id: workspace.id,
      sequence: 0,
      data: {
        origin: readCheckpoint(head.checkpoint)!.origin,
        epoch: 1,
        size: head.size,
        root: head.root.toString("base64"),
        checkpoint: head.checkpoint,
      },
    });
    await grow();
    service.clock.advance(3_600_001);
    await tick();
    await until(async () => announced().length > 1);
    expect(announced().map(({ body }) => body.data.size)).to.deep.equal([head.size, head.size + 1]);
    const feed = await workspace.ask("GET /v1/events");
    expect(feed.json.data).to.deep.equal([]);
  });

  it("a head that was signed on demand within the hour is announced only after it", async () => {
    const { id } = await webhook(workspace.ask, receiver.url, ["audit.checkpoint"]);
    await grow();
    await tick();
    await grow();
    await signHead(deps, workspace.id);
    await tick();
    expect(await deliveries(id)).to.have.length(1);
    service.clock.advance(3_600_001);
    await tick();
    expect(await deliveries(id)).to.have.length(2);
  });

  it("webhooks of other kinds, of identities or of other workspaces, and disabled ones, receive no head", async () => {
    const identity = await service.identity(workspace.id);
    const make = async (json: object) => (await workspace.ask("POST /v1/webhooks", { json })).json.id;
    const ids = [
      await make({ url: receiver.url, events: ["draft.stale"] }),
      await make({ url: receiver.url, events: ["audit.checkpoint"], identity_ids: [identity.id] }),
      await make({ url: receiver.url, events: ["audit.checkpoint"], status: "disabled" }),
    ];
    const other = await service.workspace();
    const { id: foreign } = await webhook(other.ask, receiver.url, ["audit.checkpoint"]);
    await grow();
    await tick();
    for (const id of ids) expect(await deliveries(id)).to.deep.equal([]);
    const { json } = await other.ask(`GET /v1/webhooks/${foreign}/deliveries`);
    expect(json.data).to.have.length(1);
  });

  it("a head is kept as skipped for a webhook that the service disabled", async () => {
    const { id } = await webhook(workspace.ask, receiver.url, ["audit.checkpoint"]);
    await disableWebhook(
      service.deps,
      { webhookId: id, because: "the receiver answered 410 Gone" },
      operator(workspace.id),
    );
    await grow();
    await tick();
    const error = "the webhook was disabled: the receiver answered 410 Gone";
    expect(await deliveries(id)).to.have.length(1);
    expect((await deliveries(id))[0]).to.include({ event_type: "audit.checkpoint", status: "skipped", error });
  });

  it("an announcement that a crash cut off, before or after its deliveries were stored, is made again and stored once", async () => {
    const { id } = await webhook(workspace.ask, receiver.url, ["audit.checkpoint"]);
    await grow();
    const failing = { ...passing, onError: () => undefined };
    const crash = () => Promise.reject(new Error("crashed"));
    await tick({ deliveries: { add: crash } }, failing);
    expect(await deliveries(id)).to.deep.equal([]);
    await tick({ auditHeads: { ...deps.auditHeads, announce: crash } }, failing);
    const [first] = await deliveries(id);
    await tick();
    expect((await deliveries(id)).map((each: { id: string }) => each.id)).to.deep.equal([first.id]);
    expect(await deps.auditHeads.unannounced(service.clock.now())).to.deep.equal([]);
  });

  it("no head is announced while the read model of webhooks is behind", async () => {
    const { id } = await webhook(workspace.ask, receiver.url, ["audit.checkpoint"]);
    await grow();
    await tick({ projected: async () => false });
    expect(await deliveries(id)).to.deep.equal([]);
    await tick();
    expect(await deliveries(id)).to.have.length(1);
  });
});
