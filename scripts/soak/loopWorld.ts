import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { openMailer } from "#test/mail/in/smtpSender.ts";
import { mail } from "#test/support/inProcess.ts";
import type { Installation, RunningInstance } from "#test/support/installation.ts";
import type { TakenMail } from "#test/support/smtpRelay.ts";
import { askedByMail, openTenant, type Tenant } from "#test/support/tenant.ts";
import { type Client, type ClientAnswer, until } from "../support/client.ts";

/** An automatic address outside: the mails that it sends for one that it gets. */
export type Robot = (received: { id: string }) => Omit<Parameters<typeof mail>[0], "id" | "from" | "to">[];

/**
 * `isAsked`: the identity has an approver. `isByKey`: its agent sends the answers; else a setting approves them. `isRewritten`: its mail comes
 * through a gateway that writes it anew.
 */
type Manner = { isAsked: boolean; isByKey: boolean; isRewritten: boolean };

/** A mailbox of a tenant. `refused`: refusals of its agent's answers. */
export type Mailbox = Manner & { tenant: Tenant; id: string; address: string; refused: ClientAnswer[] };

/** The requests by which a key answers. */
const keyWays = [
  ["POST /v1/emails/reply"],
  ["POST /v1/drafts", "POST /v1/drafts/{id}/approve", "POST /v1/drafts/{id}/send"],
  ["POST /v1/drafts", "POST /v1/drafts/{id}/send"],
];

const unasked = { approval_channel: undefined };

/** Milliseconds between two looks for new mail. */
const everyMs = 40;

/** Returns a header field's value, on one line. */
const headerOf = ({ content }: TakenMail, name: string): string =>
  new RegExp(`^${name}:[ \\t]*(.*(?:\\r\\n[ \\t].*)*)`, "im").exec(content.toString("latin1"))?.[1] ?? "";

const addressIn = (text: string): string => /[\w.+-]+@[\w.-]+/.exec(text)?.[0].toLowerCase() ?? "";

/**
 * Removes what tells that a mail is automatic, and whose it is: Auto-Submitted, and the Message-ID that only the service can make. So do
 * gateways that write a mail anew.
 */
const rewritten = ({ content }: TakenMail): Buffer =>
  Buffer.from(
    content
      .toString("latin1")
      .replace(/^Auto-Submitted:.*\r\n/im, "")
      .replace(/^Message-ID:.*(?:\r\n[ \t].*)*/im, `Message-ID: <${randomUUID()}@gateway.example>`),
    "latin1",
  );

/**
 * Mailboxes that are answered automatically, and the post between them: what the relay takes for a mailbox goes to the receiver of one of
 * the instances in turn, what it takes for a robot is answered at once, and an agent answers all mail that is filed, at the instances in
 * turn.
 */
export async function openLoopWorld(installation: Installation, first: readonly RunningInstance[]) {
  let instances = first;
  const mailboxes = new Map<string, Mailbox>();
  const robots = new Map<string, Robot>();
  const answered = new Set<string>();
  const failures: string[] = [];
  const underWay = new Set<Promise<unknown>>();
  const stopping = new AbortController();
  let passedOn = 0;
  let turn = 0;
  let keyAnswers = 0;
  let isSilent = false;

  const nextInstance = (): RunningInstance => instances[turn++ % instances.length]!;

  async function deliver(raw: Buffer, to: string): Promise<void> {
    const mailer = await openMailer(nextInstance().smtpPort);
    const told = await mailer.send(raw, to);
    mailer.close();
    if (!told.startsWith("250")) throw new Error(`a mail to ${to} was refused: ${told}`);
  }

  /** Starts work that goes on beside the other work. Its failure is a failure of the world. */
  function begin(work: Promise<unknown>): void {
    const begun = work.catch((error) => failures.push(String(error))).finally(() => underWay.delete(begun));
    underWay.add(begun);
  }

  const write = (robot: string, to: string, written: ReturnType<Robot>[number]): Promise<void> =>
    deliver(Buffer.from(mail({ ...written, id: `${randomUUID()}@robots.example`, from: robot, to })), to);

  function passOn(taken: TakenMail): void {
    for (const to of taken.to.map((address) => address.toLowerCase())) {
      const mailbox = mailboxes.get(to);
      if (mailbox) begin(deliver(mailbox.isRewritten ? rewritten(taken) : taken.content, to));
      const robot = robots.get(to);
      const received = { id: headerOf(taken, "Message-ID").replace(/[<>]/g, "") };
      for (const written of robot?.(received) ?? []) begin(write(to, addressIn(headerOf(taken, "From")), written));
    }
  }

  type Filed = { id: string; threadId: string; identityId: string };

  /** Answers each message that no draft answers yet. A refusal is no failure: the loop ends by it. */
  async function answerNew(): Promise<void> {
    const sql = `select id, thread_id as "threadId", identity_id as "identityId" from read.messages where direction = 'inbound'`;
    for (const { id, threadId, identityId } of await installation.rows<Filed>(sql)) {
      if (answered.has(id)) continue;
      answered.add(id);
      const mailbox = [...mailboxes.values()].find((each) => each.id === identityId);
      if (!mailbox) continue;
      begin(answer(mailbox, { thread_id: threadId, based_on_message_id: id, body_text: `Noted: ${id}.` }));
    }
  }

  /** Submits a draft. By key, also sends it, approved before or not, or writes the answer in one call: the ways in turn. */
  async function answer({ tenant, id, isByKey, refused }: Mailbox, letter: object): Promise<void> {
    const draft = `POST /v1/drafts`;
    const way = isByKey ? keyWays[keyAnswers++ % keyWays.length]! : [draft];
    let draftId = "";
    for (const line of way) {
      const body = line === draft ? { ...letter, identity_id: id } : line.endsWith("reply") ? letter : undefined;
      const told = await tenant.at(nextInstance()).api(line.replace("{id}", draftId), body);
      if (told.status >= 300) return void refused.push(told);
      draftId = told.body.id;
    }
  }

  const working = (async () => {
    while (!stopping.signal.aborted) {
      if (!isSilent) for (const taken of installation.relay.mails.slice(passedOn)) passOn(taken);
      passedOn = installation.relay.mails.length;
      await answerNew();
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
    await Promise.all(underWay);
  })();

  return {
    failures,
    /** Opens a workspace. */
    tenant: (): Promise<Tenant> => openTenant(installation, instances[0]!),
    async mailbox(tenant: Tenant, different: Partial<Manner> = {}): Promise<Mailbox> {
      const manner = { isAsked: false, isByKey: false, isRewritten: false, ...different };
      const { isAsked, isByKey } = manner;
      const settings = { auto_approve_replies: !isByKey, can_send_cold: true, ...(isAsked ? askedByMail : unasked) };
      const { id, email_address } = await tenant.at(instances[0]!).identity(settings);
      const mailbox: Mailbox = { ...manner, tenant, id, address: email_address, refused: [] };
      mailboxes.set(mailbox.address, mailbox);
      return mailbox;
    },
    /** Adds a robot, which begins by writing to the mailbox. Returns its address. */
    async robot({ address }: Mailbox, robot: Robot): Promise<string> {
      const own = `robot-${randomUUID().slice(0, 8)}@robots.example`;
      robots.set(own, robot);
      await write(own, address, { text: "An order has arrived." });
      return own;
    },
    isRobot: (address: string): boolean => robots.has(address),
    /** Sends a mail of a robot's. */
    write,
    /** Sends a mail of a mailbox's that answers none. */
    begin: ({ tenant, id }: Mailbox, to: string): Promise<unknown> =>
      tenant
        .at(nextInstance())
        .ask("POST /v1/emails/send", { identity_id: id, to: [to], subject: "Hello", body_text: "Is it there?" }),
    /** Counts the mails that left from a mailbox's workspace for an address. */
    left: ({ tenant }: Mailbox, to: string): number =>
      installation.relay.mails.filter((taken) => {
        const from = mailboxes.get(addressIn(headerOf(taken, "From")));
        return from?.tenant.workspaceId === tenant.workspaceId && taken.to.some((each) => each.toLowerCase() === to);
      }).length,
    /** Clients of the mailbox's agent, one at each instance. */
    clients: ({ tenant }: Mailbox): Client[] => instances.map((instance) => tenant.at(instance)),
    /** Stops the post and the robots; the agent goes on. Resolves when nothing is under way any more. */
    async silence(): Promise<void> {
      isSilent = true;
      await Promise.all(underWay);
      const sql = "select 1 from read.drafts where status in ('approved', 'sending') limit 1";
      await until("no draft under way", async () => (await installation.rows(sql)).length === 0);
    },
    moveTo(others: readonly RunningInstance[]): void {
      instances = others;
    },
    async stop(): Promise<void> {
      stopping.abort();
      await working;
    },
  };
}

export type LoopWorld = Awaited<ReturnType<typeof openLoopWorld>>;
