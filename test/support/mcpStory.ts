import { randomBytes } from "node:crypto";
import type { Client } from "@modelcontextprotocol/client";
import { approvalLink, createClient, until } from "../../scripts/support/client.ts";
import { type InProcess, mail } from "./inProcess.ts";
import { steadyWords } from "./steadyWords.ts";

/** Connects a client of the tools, by any transport. */
export type Connect = (key: string) => Promise<Client>;

const scopes = ["read:threads", "read:identities", "write:drafts", "write:emails"];

/**
 * Plays the demo's story for an agent and returns each tool call and result, word for word, as a Markdown page. Ids, times and fences,
 * which differ each time, are replaced; everything else is the service's own output.
 */
export async function mcpStory(service: InProcess, connect: Connect): Promise<string> {
  const stage = await createStage(service, connect);
  try {
    await answered(stage);
    await outdated(stage);
    await refused(stage);
  } finally {
    await stage.client.close();
  }
  return stage.page();
}

type StoryStage = Awaited<ReturnType<typeof createStage>>;

/** A first mail, an answer, a person's approval: it is sent. */
async function answered({ tell, customerWrites, call, submit, waitFor, decide, isSent }: StoryStage): Promise<void> {
  tell("## A customer writes, and a person approves the answer");
  await customerWrites("Hello,\n\nmy order 1843 was due on Monday. Where is it?\n\nAda");
  await call("whoami");
  const { threads } = await call("list_threads", { status: "open" });
  const threadId: string = threads[0].id;
  const draft = await submit(threadId, {
    body_text: "Dear Ada,\n\nyour parcel is in Leeds and arrives tomorrow.",
    rationale: "The tracking page says so.",
  });
  tell("It tries to send without a person:");
  await call("send_draft", { draft_id: draft.id });
  await waitFor(draft, () => decide("approve"));
  await call("send_draft", { draft_id: draft.id, version: draft.version });
  await isSent(draft);
  await call("get_draft", { draft_id: draft.id });
}

/** The customer writes again after the approval: it is not sent. */
async function outdated({
  tell,
  customerWrites,
  call,
  submit,
  waitFor,
  decide,
  newestThread,
}: StoryStage): Promise<void> {
  tell("## The customer writes again while an approved draft waits");
  await customerWrites("Thank you! Could it go to my neighbour?");
  const threadId = await newestThread();
  const draft = await submit(threadId, {
    body_text: "Of course, your neighbour gets it.",
    rationale: "She asked for it.",
  });
  await waitFor(draft, () => decide("approve"));
  await customerWrites("Stop, I will be at home after all.");
  await call("send_draft", { draft_id: draft.id, version: draft.version });
}

/** A person rejects it with a reason. */
async function refused({ tell, submit, waitFor, decide, newestThread }: StoryStage): Promise<void> {
  tell("## A person says no");
  const draft = await submit(await newestThread(), { body_text: "We will see.", rationale: "Short and simple." });
  await waitFor(draft, () => decide("reject", "Too curt. Say when the parcel comes."));
}

async function createStage(service: InProcess, connect: Connect) {
  const workspace = await service.workspace();
  const person = createClient({ url: service.url, smtpPort: 0, apiKey: workspace.key });
  const run = randomBytes(4).toString("hex");
  const approver = `approver-${run}@example.com`;
  const identity = await person.identity({
    local_part: `support-${run}`,
    display_name: "Ellis from Support",
    approval_channel: { type: "email", config: { to: approver } },
    require_human_approval: true,
    send_on_channel_approval: false,
  });
  const key = await workspace.keyOf(scopes);
  await service.caughtUp();
  const client = await connect(key);
  const steady = steadyWords({ [run]: "" });
  const lines: string[] = [];
  const opened = new Set<number>();
  let mails = 0;

  const tell = (text: string) => lines.push(text);
  const block = (kind: string, text: string) => tell(`\`\`\`${kind}\n${steady(text)}\n\`\`\``);

  async function called(name: string, given: Record<string, unknown>, onprogress?: () => void) {
    const result = await client.callTool({ name, arguments: given }, onprogress ? { onprogress } : {});
    const [content] = result.content as { type: string; text: string }[];
    return { text: content!.text, structured: result.structuredContent as any, isError: result.isError === true };
  }

  function tellCall(name: string, given: Record<string, unknown>, result: { text: string; isError: boolean }): void {
    tell(`The agent calls \`${name}\`${Object.keys(given).length === 0 ? "" : " with"}`);
    if (Object.keys(given).length > 0) block("json", JSON.stringify(given, null, 2));
    tell(result.isError ? "and is told, as an error:" : "and reads:");
    block("text", result.text);
  }

  async function call(name: string, given: Record<string, unknown> = {}): Promise<any> {
    const result = await called(name, given);
    tellCall(name, given, result);
    return result.structured;
  }

  async function newestThread(): Promise<string> {
    const { json } = await workspace.ask("GET /v1/threads");
    return json.data[0].id;
  }

  /** Waits until this holds for each message on the thread: results that arrive a little later would be in some transcripts only. */
  async function settled(isSo: (message: Record<string, unknown>) => boolean): Promise<void> {
    const id = await newestThread();
    await until("the thread", async () => (await person.ask(`GET /v1/threads/${id}`)).messages.every(isSo));
    await service.caughtUp();
  }

  async function customerWrites(text: string): Promise<void> {
    mails += 1;
    const id = (number: number) => `${number}-${run}@customer.example`;
    const again = mails > 1 ? { subject: "Re: Where is my parcel?", inReplyTo: id(mails - 1) } : {};
    const to = identity.email_address;
    const first = { id: id(mails), from: "Ada Byron <ada@customer.example>", to, subject: "Where is my parcel?" };
    await service.deliver(to, mail({ ...first, ...again, text }), { from: "ada@customer.example" });
    await settled((message) => message.direction !== "inbound" || message.authentication !== null);
    tell("Ada Byron writes:");
    block("text", text);
  }

  return {
    ...{ client, call, tell, customerWrites, newestThread },
    page: () => lines.join("\n\n"),
    /** Reads the thread, and answers its newest message. */
    async submit(threadId: string, said: { body_text: string; rationale: string }): Promise<any> {
      const read = await call("read_thread", { thread_id: threadId });
      const ids = { thread_id: threadId, identity_id: identity.id };
      const based_on_message_id = read.newest_message_id ?? read.thread.newest_message_id;
      return (await call("submit_draft", { ...ids, based_on_message_id, ...said })).draft;
    },
    /** Lets the agent wait; once its call is pending, a person decides. */
    async waitFor(draft: { id: string }, decision: () => Promise<string>): Promise<void> {
      const given = { draft_id: draft.id, timeout_seconds: 60 };
      let heard = () => {};
      const isHeard = new Promise<void>((resolve) => {
        heard = resolve;
      });
      const [result, decided] = await Promise.all([
        called("wait_for_decision", given, () => heard()),
        isHeard.then(decision),
      ]);
      tell(`While the agent waits, ${decided}`);
      tellCall("wait_for_decision", given, result);
    },
    /** Opens the link of the next approval mail and presses a button, as a person. */
    async decide(decision: "approve" | "reject", reason?: string): Promise<string> {
      const request = await until("the approval mail", async () =>
        (await person.outbox()).find(
          ({ id, to, text }) => to.includes(approver) && /\/a\//.test(text) && !opened.has(id),
        ),
      );
      opened.add(request.id);
      const { pathname, search } = new URL(approvalLink(request, decision));
      const { status } = await person.press(service.url + pathname + search, decision, reason);
      if (status !== 200) throw new Error(`the press was answered ${status}`);
      // The time in which an approval can be undone passes at once.
      service.clock.advance(10_000);
      if (decision === "approve") return "a person opens the link of the approval mail, looks, and presses Approve.";
      return `a person opens the link of the approval mail and presses Reject, with a reason: “${reason}”`;
    },
    /** Waits until the draft was sent, and the hand-over of its mail is recorded. */
    async isSent(draft: { id: string }): Promise<void> {
      await until("sent", async () => (await person.ask(`GET /v1/drafts/${draft.id}`)).status === "sent");
      await settled(({ direction, delivery_status }) => direction === "inbound" || delivery_status === "delivered");
    },
  };
}
