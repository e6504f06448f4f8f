import { expect } from "chai";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { startSmtpRelay } from "#test/support/smtpRelay.ts";

describe("a service that stops while a draft waits for the relay's only connection", () => {
  async function draft(service: InProcess, workspace: Workspace): Promise<string> {
    const identity = await service.identity(workspace.id);
    await service.deliver(identity.address, mail({ id: `to-${identity.id}@x.example`, to: identity.address }));
    const [thread] = (await workspace.ask(`GET /v1/threads?identity_id=${identity.id}`)).json.data;
    const { messages } = (await workspace.ask(`GET /v1/threads/${thread.id}`)).json;
    const base = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages[0].id };
    return (await workspace.ask("POST /v1/drafts", { json: { ...base, body_text: "Here." } })).json.id;
  }

  async function atWork({ database }: InProcess): Promise<number> {
    const { rows } = await database.query("select from work.lanes where process = 'deliver' and state = 'claimed'");
    return rows.length;
  }

  it("a stopping service finishes the send in progress and opens no connection for the next", async () => {
    const relay = await startSmtpRelay([], { answersAfterMs: { dot: 1_500 } });
    const service = await startInProcess({ MAIL_PROVIDER: "smtp", SMTP_URL: relay.url, SMTP_CONNECTIONS: "1" });
    try {
      const workspace = await service.workspace();
      const drafts = [await draft(service, workspace), await draft(service, workspace)];
      await Promise.all(drafts.map((id) => workspace.ask(`POST /v1/drafts/${id}/send`)));
      await until(async () => relay.contentBytes > 0 && (await atWork(service)) === 2);
    } finally {
      await service.stop();
      await relay.close();
    }
    expect([relay.mails.length, relay.connections]).to.deep.equal([1, 1]);
  });
});
