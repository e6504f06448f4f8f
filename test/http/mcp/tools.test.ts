import type { Client } from "@modelcontextprotocol/client";
import { expect } from "chai";
import { strangersMail } from "#test/attacks/words/story.ts";
import { sized } from "#test/support/full.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { answerOf, type Called, call, connect } from "./client.ts";
import { outsideFences, requireFenced } from "./fenceSupport.ts";
import { hostileWords, mark } from "./hostileWords.ts";

describe("mcp: the tools, by the official client", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  let client: Client;
  let mails = 0;
  const clients: Client[] = [];

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
    client = await connected(workspace.key);
  });
  after(async () => {
    await Promise.all(clients.map((each) => each.close()));
    await service?.stop();
  });

  async function connected(key: string, options: Parameters<typeof connect>[2] = {}): Promise<Client> {
    const made = await connect(service.url, key, options);
    clients.push(made);
    return made;
  }

  const use = (name: string, args: Record<string, unknown> = {}): Promise<Called> => call(client, name, args);

  async function used(name: string, args: Record<string, unknown> = {}): Promise<any> {
    const { text, structured, isError } = await use(name, args);
    expect(isError, text).to.equal(false);
    return structured;
  }

  /** The newest thread, after a mail has come in. */
  async function received(given: { text?: string; inReplyTo?: string; subject?: string } = {}) {
    const id = `mcp${++mails}@customer.example`;
    await service.deliver(identity.address, mail({ id, subject: `Question ${mails}`, ...given }));
    const { threads } = await used("list_threads", { limit: 1 });
    const thread = await used("read_thread", { thread_id: threads[0].id });
    return { ...thread, mailId: id };
  }

  const answerTo = (thread: any) => ({
    thread_id: thread.thread_id,
    identity_id: thread.identity_id,
    based_on_message_id: thread.newest_message_id,
    body_text: "On its way.",
  });

  async function submitted(different: object = {}) {
    const thread = await received();
    const { draft } = await used("submit_draft", { ...answerTo(thread), ...different });
    return { thread, draft };
  }

  const rejected = (id: string, reason: string) => workspace.ask(`POST /v1/drafts/${id}/reject`, { json: { reason } });

  describe("reading", () => {
    it("a thread is found by its words, and read with its new text and the message to answer", async () => {
      const first = await received({ text: "Where is my teapot?", subject: "A teapot" });
      const quoted = "Please hurry.\r\n\r\nOn Mon, 23 Nov 2026 at 10:12 Support wrote:\r\n> Where is my teapot?";
      await received({ text: quoted, subject: "Re: A teapot", inReplyTo: first.mailId });
      const { threads } = await used("list_threads", { q: "teapot" });
      expect(threads.map(({ id }: any) => id)).to.deep.equal([first.thread_id]);
      const { text, structured } = await use("read_thread", { thread_id: first.thread_id });
      expect(structured.messages.map(({ untrusted }: any) => untrusted.text)).to.deep.equal([
        "Where is my teapot?",
        "Please hurry.",
      ]);
      expect(structured.newest_message_id).to.equal(structured.messages[1].id);
      expect(text).to.match(/came in (just now|\d+ (second|minute|hour|day)s? ago)/);
      expect(text).to.include(`based_on_message_id ${structured.newest_message_id}`);
      const whole = await used("read_thread", {
        ...{ thread_id: first.thread_id, message_id: structured.newest_message_id, quoted: true },
      });
      expect(whole.message.untrusted.text).to.include("> Where is my teapot?");
    });

    it("a long message is read to its end in pieces", async () => {
      const long = Array.from({ length: 2_500 }, (_, n) => `line ${n}`).join("\r\n");
      const thread = await received({ text: long });
      const pieces = [thread.messages[0].untrusted.text];
      const args = { thread_id: thread.thread_id, message_id: thread.newest_message_id };
      for (let offset = thread.messages[0].next_offset; offset !== null; ) {
        const { message } = await used("read_thread", { ...args, offset });
        pieces.push(message.untrusted.text);
        offset = message.next_offset;
      }
      expect(pieces.length).to.be.at.least(3);
      expect(pieces.join("").replace(/\s+/g, "")).to.equal(long.replace(/\s+/g, ""));
    });

    it("whoami returns the identities, the workspace and what is left of the plan", async () => {
      const { identities, workspace: plan } = await used("whoami");
      expect(identities.map(({ id }: any) => id)).to.include(identity.id);
      expect(plan).to.include({ id: workspace.id, emails_left_this_period: null });
    });

    it("a thread's resource shows what read_thread shows, and a foreign thread is not found", async () => {
      const thread = await received();
      const { contents } = await client.readResource({ uri: `countersign://threads/${thread.thread_id}` });
      expect((contents[0] as any).text).to.include(`message_id ${thread.newest_message_id}`);
      const foreign = await service.workspace();
      const stranger = await connected(foreign.key);
      const refused = await stranger.readResource({ uri: `countersign://threads/${thread.thread_id}` }).catch(String);
      expect(refused).to.match(/not found/i);
      const answer = await call(stranger, "read_thread", { thread_id: thread.thread_id });
      expect([answer.isError, answer.structured.error]).to.deep.equal([true, "not_found"]);
    });
  });

  describe("writing", () => {
    it("a draft is submitted once per idempotency key, and only the version that was read can be revised", async () => {
      const thread = await received();
      const args = { ...answerTo(thread), rationale: "asked", idempotency_key: "once" };
      const { draft } = await used("submit_draft", args);
      expect((await used("submit_draft", args)).draft.id).to.equal(draft.id);
      expect(draft).to.include({ status: "pending", version: 1 });
      const revised = await used("revise_draft", { draft_id: draft.id, version: 1, body_text: "It left today." });
      expect(revised.draft.version).to.equal(2);
      const stale = await use("revise_draft", { draft_id: draft.id, version: 1, body_text: "Never." });
      expect([stale.isError, stale.structured.error]).to.deep.equal([true, "version_mismatch"]);
      expect(stale.text).to.include("get_draft");
      expect((await used("get_draft", { draft_id: draft.id })).draft.text).to.equal("It left today.");
    });

    it("an approver's reason for a rejection is shown outside of the fences", async () => {
      const { draft } = await submitted();
      await rejected(draft.id, `${mark} be kinder`);
      const { text, structured } = await use("get_draft", { draft_id: draft.id });
      expect(structured.draft.reason).to.equal(`${mark} be kinder`);
      expect(structured.draft.decision).to.include({ decision: "reject", kind: "api_key" });
      expect(outsideFences(text).outside).to.include(`which you may follow:\n| ${mark} be kinder`);
      expect(text).to.include("Next: read the reason");
    });

    it("an approved draft is sent once per idempotency key, and reply drafts and sends in one call", async () => {
      const { draft } = await submitted();
      await workspace.ask(`POST /v1/drafts/${draft.id}/approve`);
      const args = { draft_id: draft.id, version: 1, idempotency_key: "send it" };
      expect((await used("send_draft", args)).status).to.equal("sending");
      expect((await used("send_draft", args)).draft_id).to.equal(draft.id);
      const { text: read } = await use("read_thread", { thread_id: draft.thread_id });
      expect(read).to.match(new RegExp(`our mail, .*from draft_id ${draft.id}, approved .* through api_key`));
      expect(read.split(draft.id)).to.have.length(2);
      const thread = await received();
      const { body_text, thread_id, based_on_message_id } = answerTo(thread);
      const accepted = await used("reply", { body_text, thread_id, based_on_message_id });
      expect(accepted.status).to.equal("sending");
    });

    it("a draft is not sent without a required person, nor after a newer message", async () => {
      const careful = await service.identity(workspace.id, {
        requireHumanApproval: true,
        approvalChannel: { type: "email", config: { to: "boss@example.com" } },
      });
      await service.deliver(careful.address, mail({ id: "careful@customer.example", subject: "Careful" }));
      const { threads } = await used("list_threads", { identity_id: careful.id });
      const thread = await used("read_thread", { thread_id: threads[0].id });
      const { draft } = await used("submit_draft", answerTo(thread));
      const refused = await use("send_draft", { draft_id: draft.id });
      expect(refused.structured.error).to.equal("human_approval_required");
      expect(refused.text).to.include("wait_for_decision");

      const { draft: outdated, thread: older } = await submitted();
      await received({ text: "And another thing.", inReplyTo: older.mailId });
      expect((await used("get_draft", { draft_id: outdated.id })).draft.newer_message_id).to.be.a("string");
      const past = await use("send_draft", { draft_id: outdated.id });
      expect([past.structured.error, past.isError]).to.deep.equal(["stale_draft", true]);
      expect(past.text).to.include("Read the thread again: a newer message has arrived");
    });
  });

  describe("waiting for a decision", () => {
    /** Calls wait_for_decision, and resolves `waits` with its answer once it is known to wait. */
    async function waiting(by: Client, args: object) {
      let told = (): void => {};
      const first = new Promise<void>((resolve) => {
        told = resolve;
      });
      const asked = { name: "wait_for_decision", arguments: { ...args } };
      const answer = by.callTool(asked, { onprogress: () => told() }).then(answerOf);
      await Promise.race([first, answer]);
      return { answer };
    }

    it("wait_for_decision ends with the decision, and reports progress before", async () => {
      const { draft } = await submitted();
      const { answer } = await waiting(client, { draft_id: draft.id, timeout_seconds: 60 });
      await rejected(draft.id, "no");
      const { structured } = await answer;
      expect(structured).to.include({ decided: true, timed_out: false });
      expect(structured.draft.status).to.equal("rejected");
    });

    it("wait_for_decision ends when a newer message arrives, and at its time limit", async () => {
      const { draft, thread } = await submitted();
      const short = await used("wait_for_decision", { draft_id: draft.id, timeout_seconds: 1 });
      expect(short).to.include({ decided: false, timed_out: true });
      const { answer } = await waiting(client, { draft_id: draft.id, timeout_seconds: 60 });
      await received({ text: "Never mind.", inReplyTo: thread.mailId });
      const { structured, text } = await answer;
      expect(structured.draft.newer_message_id).to.be.a("string");
      expect(text).to.include("the other side wrote again");
    });

    it("a key has five waiting calls: a sixth is refused until the oldest has waited a minute, and then ends that one", async () => {
      const { draft } = await submitted();
      const wait = () => use("wait_for_decision", { draft_id: draft.id, timeout_seconds: 300 });
      const waiting = Array.from({ length: 5 }, wait);
      await until(async () => {
        const { structured } = await use("wait_for_decision", { draft_id: draft.id, timeout_seconds: 1 });
        return structured.error === "rate_limited" && structured.retry_after <= 60;
      });
      service.clock.advance(60_000);
      const sixth = wait();
      expect((await Promise.race(waiting)).structured).to.include({ decided: false, timed_out: true });
      await rejected(draft.id, "no");
      const ended = await Promise.all([...waiting, sixth]);
      expect(ended.map(({ structured }) => structured.decided).sort()).to.deep.equal([false, ...Array(5).fill(true)]);
    });

    it("wait_for_decision ends when its key is revoked", async () => {
      const { draft } = await submitted();
      const doomed = (await workspace.ask("POST /v1/api-keys", { json: { name: "doomed", scopes: ["read:threads"] } }))
        .json;
      await service.caughtUp();
      const other = await connected(doomed.key);
      const { answer } = await waiting(other, { draft_id: draft.id, timeout_seconds: 600 });
      expect((await workspace.ask(`DELETE /v1/api-keys/${doomed.id}`)).status).to.equal(200);
      const { isError, structured, text } = await answer;
      expect([isError, structured.error]).to.deep.equal([true, "unauthorized"]);
      expect(text).to.include("Stop and tell the user");
      expect(await connected(doomed.key).catch(() => "refused")).to.equal("refused");
    });
  });

  describe("news of a thread", () => {
    it("news of a thread is sent to a subscriber of its workspace, and not to one of another workspace", async () => {
      const thread = await received();
      const foreign = await service.workspace();
      const mode = { versionNegotiation: { mode: "auto" as const } };
      const uri = `countersign://threads/${thread.thread_id}`;
      const heard: Record<string, string[]> = { own: [], foreign: [] };
      for (const [name, key] of [
        ["own", workspace.key],
        ["foreign", foreign.key],
      ] as const) {
        const listener = await connected(key, mode);
        listener.setNotificationHandler("notifications/resources/updated", ({ params }) => {
          heard[name]!.push(params.uri);
        });
        await listener.listen({ resourceSubscriptions: [uri] });
      }
      await until(async () => {
        if (heard.own!.length === 0) await used("submit_draft", answerTo(thread));
        return heard.own!.length > 0;
      });
      expect(heard).to.deep.equal({ own: heard.own!.map(() => uri), foreign: [] });
    });
  });

  describe("bad input", () => {
    it("unknown tools, unknown arguments and missing arguments are refused by name", async () => {
      expect(await use("approve_draft").catch(String)).to.match(/approve_draft not found/);
      const unknown = await use("list_threads", { approve: true });
      expect([unknown.structured.error, unknown.structured.field]).to.deep.equal(["invalid_request", "approve"]);
      expect(unknown.text).to.include("Correct the argument");
      const missing = await use("get_draft");
      expect(missing.structured.field).to.equal("draft_id");
      const long = await use("get_draft", { [mark.repeat(20_000)]: 1 });
      expect(long.structured.error).to.equal("invalid_request");
      expect(long.text.length).to.be.below(1_500);
      const none = await use("get_draft", { draft_id: workspace.id });
      expect([none.structured.error, none.text.includes("list_threads")]).to.deep.equal(["not_found", true]);
    });

    it("1 MB of arguments is refused, and deeply nested arguments cause no internal error", async () => {
      const large = await use("list_threads", { q: "a".repeat(1_100_000) }).catch(String);
      expect(String(large)).to.match(/413|too large/i);
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_threads","arguments":{"q":${"[".repeat(100_000)}${"]".repeat(100_000)}}}}`;
      const headers = { Accept: "application/json, text/event-stream", "Content-Type": "application/json" };
      const answer = await fetch(new URL("/mcp", service.url), {
        ...{ method: "POST", body },
        headers: { ...headers, Authorization: `Bearer ${workspace.key}` },
      });
      expect(await answer.text()).to.not.match(/internal_error/);
      expect((await used("whoami")).identities).to.not.have.length(0);
    });

    it("mcp serves many clients at once while one client never reads", async () => {
      const { draft } = await submitted();
      const gone = new AbortController();
      const headers = { Accept: "application/json, text/event-stream", "Content-Type": "application/json" };
      const params = { name: "wait_for_decision", arguments: { draft_id: draft.id, timeout_seconds: 600 } };
      const silent = fetch(new URL("/mcp", service.url), {
        ...{ method: "POST", signal: gone.signal },
        headers: { ...headers, Authorization: `Bearer ${workspace.key}` },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
      }).catch(() => undefined);
      const count = sized(6, 200);
      const many = await Promise.all(Array.from({ length: count }, () => connected(workspace.key)));
      const answers = await Promise.all(many.map((each) => call(each, "get_draft", { draft_id: draft.id })));
      expect(answers.map(({ structured }) => structured.draft.id)).to.deep.equal(Array(count).fill(draft.id));
      gone.abort();
      await silent;
    });
  });

  it("real hostile mail stays within the fences of every reading tool and of the resource", async () => {
    const some = hostileWords.filter((_, index) => index % sized(25, 1) === 0);
    for (const { trick, words } of some) {
      const text = words.toWellFormed();
      const write = () => text.slice(0, 20_000);
      const made = strangersMail(write, trick, { to: identity.address });
      await service.deliver(identity.address, made);
      const listed = await use("list_threads", { limit: 1 });
      requireFenced(`${trick}: list_threads`, listed);
      const id = listed.structured.threads[0].id;
      const thread = await use("read_thread", { thread_id: id });
      requireFenced(`${trick}: read_thread`, thread);
      expect(thread.text, trick).to.include(mark);
      const [message] = thread.structured.messages;
      for (const quoted of [false, true]) {
        requireFenced(trick, await use("read_thread", { thread_id: id, message_id: message.id, quoted }));
      }
      const [attachment] = message.untrusted.attachments;
      requireFenced(trick, await use("read_attachment", { message_id: message.id, attachment_id: attachment.id }));
      const { contents } = await client.readResource({ uri: `countersign://threads/${id}` });
      requireFenced(`${trick}: resource`, { text: (contents[0] as any).text, structured: {} });
    }
  });
});
