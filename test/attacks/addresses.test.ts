import { expect } from "chai";
import { nameId } from "#src/commands/domains/domainNames.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

/** Strangers try to receive, send or approve under another's address. */
describe("attacks by e-mail addresses", () => {
  let service: InProcess;
  let own: Workspace;
  let stranger: typeof own;

  before(async () => {
    service = await startInProcess();
    own = await service.workspace();
    stranger = await service.workspace();
  });
  after(() => service?.stop());

  const make = async ({ ask }: typeof own, local_part: string) => {
    const { json } = await ask("GET /v1/domains");
    const domain_id = json.data.find(({ kind, sandbox }: any) => kind === "sandbox" || sandbox)?.id ?? json.data[0].id;
    return ask("POST /v1/identities", { json: { domain_id, local_part, display_name: "X" } });
  };

  it("a tagged form of another workspace's sandbox address cannot be registered", async () => {
    expect((await make(own, "bob")).status).to.equal(201);
    const taken = await make(stranger, "bob+invoices");
    expect([taken.status, taken.json.error]).to.deep.equal([409, "invalid_request"]);
    expect((await make(own, "bob+invoices")).status).to.equal(201);
    expect((await make(stranger, "alice+invoices")).status).to.equal(201);
    expect((await make(stranger, "approvals+1")).status, "like the approval mails' sender").to.equal(422);
  });

  it("a Reply-To that names the identity itself or its tags does not make the identity write to itself", async () => {
    const identity = await service.identity(own.id);
    const [local, host] = identity.address.split("@");
    const raw = mail({ id: "self@customer.example", to: identity.address });
    const replyTo = `Reply-To: ${identity.address.toUpperCase()}, ${local}+x@${host}\r\n`;
    await service.deliver(identity.address, replyTo + raw);
    const thread = (await own.ask(`GET /v1/threads?identity_id=${identity.id}`)).json.data[0];
    const { messages } = (await own.ask(`GET /v1/threads/${thread.id}`)).json;
    expect(messages[0].reply_to).to.have.length(2);
    const basedOn = { thread_id: thread.id, based_on_message_id: messages[0].id, body_text: "Hello." };
    const drafted = await own.ask("POST /v1/drafts", { json: { ...basedOn, identity_id: identity.id } });
    const replied = await own.ask("POST /v1/emails/reply", { json: basedOn });
    for (const id of [drafted.json.id, replied.json.draft_id]) {
      const { json } = await own.ask(`GET /v1/drafts/${id}/content`);
      expect(json.to, id).to.deep.equal(["ann@customer.example"]);
    }
  });

  it("an approver whose mailbox is received by the service is sent no approval links [d2 hosted approvers]", async () => {
    const [name, to] = ["moved.example", "boss@moved.example"];
    const approvalChannel = { type: "email", config: { to } } as const;
    const identity = await service.identity(own.id, { approvalChannel });
    await service.deliver(identity.address, mail({ id: "moved@customer.example", to: identity.address }));
    const cause = { actor: { kind: "operator", id: "test" }, workspaceId: own.id } as const;
    for (const command of [
      { type: "RegisterName", name, gone: null } as const,
      { type: "ClaimName", receives: true } as const,
    ]) {
      const about = { domainId: "0d7cd2f6-7a6c-7b60-8c4f-0f2f4e3d2c1b", workspaceId: own.id };
      const ids = { correlationId: "test", causationId: "test" };
      await service.deps.domainNames.handle(nameId(name), { ...command, ...about }, { ...cause, ...ids });
    }
    const thread = (await own.ask(`GET /v1/threads?identity_id=${identity.id}`)).json.data[0];
    const { messages } = (await own.ask(`GET /v1/threads/${thread.id}`)).json;
    const json = {
      thread_id: thread.id,
      based_on_message_id: messages[0].id,
      identity_id: identity.id,
      body_text: "Hi.",
    };
    const { id } = (await own.ask("POST /v1/drafts", { json })).json;
    const typesOf = async () =>
      (await own.ask(`GET /v1/drafts/${id}/history?limit=100`)).json.data.map(({ type }: any) => type as string);
    await until(async () =>
      (await typesOf()).some((type: string) => /^(NotificationFailed|ApproversNotified)$/.test(type)),
    );
    expect(await typesOf())
      .to.include("NotificationFailed")
      .and.not.include("ApproversNotified");
    const caught = (await (await fetch(`${service.url}/outbox.json`)).json()) as { to: unknown }[];
    expect(caught.filter((each) => JSON.stringify(each).includes(to))).to.deep.equal([]);
  });
});
