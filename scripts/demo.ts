import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { approvalLink, type Client, createClient, type OutboxMail, until } from "./support/client.ts";
import { startInstance } from "./support/instance.ts";

/**
 * Plays the main job as a story: a customer writes by SMTP, an agent answers over REST, a person decides by the links of a mail, and the
 * reply reaches the outbox. Uses its own data directory, which is removed afterwards.
 */
const color = (code: number) => (text: string) => (process.stdout.isTTY ? `\u001b[${code}m${text}\u001b[0m` : text);
const bold = color(1);
const dim = color(2);
const red = color(31);
const green = color(32);
const yellow = color(33);

const say = (text = "") => console.log(text);
const chapter = (number: number, title: string) => say(`\n${bold(`${number}. ${title}`)}`);
const quote = (text: string) =>
  say(
    text
      .trim()
      .split("\n")
      .map((line) => dim(`   │ ${line}`))
      .join("\n"),
  );
const done = (text: string) => say(`   ${green("✓")} ${text}`);
const stopped = (text: string) => say(`   ${red("✗")} ${text}`);

const customer = "ada@customer.example";

async function story(client: Client): Promise<void> {
  chapter(1, "An agent gets an address");
  const identity = await client.identity({
    local_part: "support",
    display_name: "Ellis from Support",
    require_human_approval: true,
  });
  done(
    `${identity.email_address}: nothing is sent from it before a person, here approver@example.com, has approved it`,
  );

  chapter(2, "A customer writes");
  const question = await client.mail({
    from: `Ada Byron <${customer}>`,
    to: identity.email_address,
    subject: "Where is my parcel?",
    text: "Hello,\n\nmy order 1843 was due on Monday. Where is it?\n\nAda",
  });
  quote("From: Ada Byron\nSubject: Where is my parcel?\n\nmy order 1843 was due on Monday. Where is it?");
  done("answered 250: from now on the mail cannot be lost");

  chapter(3, "The agent reads the thread over REST and submits a draft");
  const thread = await openThread(client, "Where is my parcel?");
  const first = await submit(client, thread, {
    body_text: "Dear Ada,\n\nyour parcel is in Leeds and arrives tomorrow.",
    rationale: "The tracking page says so.",
  });
  done(`draft ${short(first.id)}, status ${yellow(first.status)}, content hash ${first.content_sha256.slice(0, 12)}…`);

  chapter(4, "A person gets the approval mail, opens the link and presses the button");
  const request = await approvalMail(client, first, 1);
  quote(`${request.subject}\n…\n${approvalLink(request, "approve").replace(/(\/a\/.{6}).*\?/, "$1…?")}`);
  for (let scan = 0; scan < 5; scan++) await fetch(approvalLink(request, "approve"));
  done(`a mail scanner opened the link five times: still ${(await client.ask(`GET /v1/drafts/${first.id}`)).status}`);
  await client.press(approvalLink(request, "approve"), "approve");
  const sent = await reachStatus(client, first.id, "sent");
  done(`approved by ${sent.decided_by.id}, status ${green(sent.status)}`);

  chapter(5, "The reply is sent, exactly once");
  const replies = (await client.outbox()).filter((mail) => mail.to.includes(customer));
  const [reply] = replies as [OutboxMail];
  quote(
    `From: ${reply.from}\nTo: ${reply.to.join(", ")}\nSubject: ${reply.subject}\nIn-Reply-To: ${reply.headers["in-reply-to"]}\n\n${reply.text}`,
  );
  done(`${replies.length} mail in the outbox for Ada, threaded under ${question}`);

  chapter(6, "The customer writes again while a draft waits: the draft is stopped");
  await client.mail({
    from: customer,
    to: identity.email_address,
    subject: "Re: Where is my parcel?",
    inReplyTo: reply.message_id,
    references: [reply.message_id],
    text: "Thank you! Could it go to my neighbour?",
  });
  const second = await submit(client, await wordAfter(client, thread.id, 3), {
    body_text: "Of course, your neighbour gets it.",
    rationale: "She asked for it.",
  });
  const secondMail = await approvalMail(client, second, 2);
  await client.mail({
    from: customer,
    to: identity.email_address,
    subject: "Re: Where is my parcel?",
    inReplyTo: reply.message_id,
    references: [reply.message_id],
    text: "Stop, I will be at home after all.",
  });
  await client.press(approvalLink(secondMail, "approve"), "approve");
  const stale = await reachStatus(client, second.id, "stale");
  stopped(`the approver pressed Approve, but Ada had written again: status ${red(stale.status)}, nothing was sent`);

  chapter(7, "A person says no");
  const third = await submit(client, await wordAfter(client, thread.id, 4), {
    body_text: "We will see.",
    rationale: "Short and simple.",
  });
  await client.press(
    approvalLink(await approvalMail(client, third, 3), "reject"),
    "reject",
    "Too curt. Say when the parcel comes.",
  );
  const rejected = await reachStatus(client, third.id, "rejected");
  stopped(`status ${red(rejected.status)}, and the agent reads why: “${rejected.reason}”`);

  chapter(8, "What the auditor sees of the first draft");
  const history = await client.ask(`GET /v1/drafts/${first.id}/history?limit=100`);
  for (const event of history.data) {
    say(
      dim(
        `   ${event.at.slice(11, 23)}  ${String(event.position).padStart(4)}  ${event.type.padEnd(20)} ${event.actor.kind} ${short(event.actor.id)}`,
      ),
    );
  }
  say(
    `\n   People see the same in a browser: ${bold("npm start")} shows a link by which you own a workspace. Its console has the drafts that wait,\n   the conversations, and for each draft its life, with “why was this sent?” answered at the top.`,
  );
  say(`\n${bold("That is Countersign:")} the agent writes, a person keeps the last word, and the history proves it.\n`);
}

const short = (id: string) => (/^[0-9a-f-]{36}$/.test(id) ? `…${id.slice(-8)}` : id);

const openThread = (client: Client, subject: string) =>
  until("the thread", async () => {
    const { data } = await client.ask("GET /v1/threads");
    const found = data.find((thread: any) => thread.subject === subject);
    return found && client.ask(`GET /v1/threads/${found.id}`);
  });

/** Waits until the thread has this many messages, and returns it. */
const wordAfter = (client: Client, threadId: string, count: number) =>
  until("the customer's next word", async () => {
    const thread = await client.ask(`GET /v1/threads/${threadId}`);
    return thread.messages_total >= count && thread;
  });

function submit(client: Client, thread: any, said: { body_text: string; rationale: string }): Promise<any> {
  const newest = thread.messages.filter((message: any) => message.direction === "inbound").at(-1);
  const { id: thread_id, identity_id } = thread;
  return client.ask("POST /v1/drafts", {
    thread_id,
    identity_id,
    based_on_message_id: newest.id,
    ...said,
  });
}

const approvalMail = (client: Client, draft: any, number: number) =>
  until("the approval mail", async () => {
    const mails = (await client.outbox()).filter((mail) => mail.to.includes("approver@example.com"));
    return mails.length >= number && draft.id !== undefined && mails[number - 1];
  });

const reachStatus = (client: Client, draftId: string, status: string) =>
  until(`status ${status}`, async () => {
    const draft = await client.ask(`GET /v1/drafts/${draftId}`);
    return draft.status === status && draft;
  });

const dataDir = await mkdtemp(join(tmpdir(), "countersign-demo-"));
say(dim("Starting Countersign on a throw-away data directory …"));
const instance = await startInstance({ DATA_DIR: dataDir });
try {
  await story(createClient({ ...instance, apiKey: instance.apiKey as string }));
} finally {
  await instance.stop();
  await rm(dataDir, { recursive: true, force: true });
}
