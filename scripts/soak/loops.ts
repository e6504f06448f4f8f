import { setTimeout as sleep } from "node:timers/promises";
import { adjustableClock } from "#test/support/adjustableClock.ts";
import { openInstallation } from "#test/support/installation.ts";
import { type ClientAnswer, until } from "../support/client.ts";
import { fiveMinutesAhead } from "./instances.ts";
import { type LoopWorld, type Mailbox, openLoopWorld, type Robot } from "./loopWorld.ts";
import type { Proof, Report } from "./proof.ts";

/** Answers to an address within an hour: as the service has it, and in a sample. */
const hourly = { full: 10, sample: 3 };
/** Milliseconds in which a loop reaches the limit, on a busy machine. */
const withinMs = 300_000;

/**
 * A mailbox that answers an address. `isEndless`: only the limit ends it. `begun`: mails among those that left for the address that answer
 * nothing.
 */
type Loop = { name: string; mailbox: Mailbox; to: string; isEndless: boolean; begun: number };

type Run = { world: LoopWorld; loops: readonly Loop[]; most: number; report: Report };

export const loops: Proof = {
  name: "loops",
  title:
    "automatic mailboxes that answer each other, or a robot that does not say what it is, get no more than the limit from two instances together; then a person is asked, and keys are refused",
  unit: "seconds",
  full: 60,
  checked: 20,
  sample: 1,
  async run({ size, report }) {
    const isSample = size <= loops.sample;
    const most = hourly[isSample ? "sample" : "full"];
    const env = { AUTO_ANSWERS_PER_ADDRESS: `${most}/3600,30/86400` };
    const installation = await openInstallation({ here: isSample, env });
    try {
      const instances = [await installation.run(isSample ? {} : fiveMinutesAhead), await installation.run()];
      const world = await openLoopWorld(installation, instances);
      const run: Run = { world, loops: await begin(world), most, report };
      await sleep(size * 1_000);
      const kept = await judgeEnds(run);
      await world.silence();
      judgeCounts(run);
      for (const instance of instances) await instance.stop();
      // The same installation after the limit's end, on an instance whose clock a proof may move.
      const clock = adjustableClock();
      clock.advance(Math.max(...kept.map(({ ends }) => ends)) - Date.now() + 1_000);
      world.moveTo([await installation.run({}, clock)]);
      await judgeLater(run, kept);
      await world.stop();
      for (const failure of world.failures) report.violation(failure);
    } finally {
      await installation.close();
    }
  },
};

/** Answers in the thread, always with the same text. */
const repeating: Robot = ({ id }) => [{ inReplyTo: id, text: "Your mail has arrived." }];
/** Answers each mail by two new threads with other texts, so that there are more of them each time. */
const doubling: Robot = ({ id }) =>
  ["arrived", "is being read"].map((what) => ({ subject: `${what} ${id}`, text: `Your mail ${id} ${what}.` }));

/** Begins all loops: mailboxes of one workspace and of two, with their mail as it leaves and as a gateway writes it anew, and robots. */
async function begin(world: LoopWorld): Promise<Loop[]> {
  const [own, other] = [await world.tenant(), await world.tenant()];
  const [ann, bea] = [await world.mailbox(own, { isAsked: true }), await world.mailbox(own)];
  const [ina, jan] = [await world.mailbox(own), await world.mailbox(own, { isRewritten: true })];
  const [dan, eva] = [await world.mailbox(other), await world.mailbox(other, { isAsked: true, isRewritten: true })];
  const gate = await world.mailbox(own, { isRewritten: true });
  const kim = await world.mailbox(other, { isByKey: true });

  /** Lets a mailbox write to another one, which answers. */
  async function meet(name: string, [from, to]: [Mailbox, Mailbox], isEndless: boolean): Promise<Loop[]> {
    await world.begin(from, to.address);
    const begins = { name: `${name}, who began`, mailbox: from, to: to.address, isEndless: false, begun: 1 };
    return [{ name, mailbox: to, to: from.address, isEndless, begun: 0 }, begins];
  }
  async function robot(name: string, mailbox: Mailbox, robot: Robot): Promise<Loop> {
    return { name, mailbox, to: await world.robot(mailbox, robot), isEndless: true, begun: 0 };
  }
  return [
    ...(await meet("two mailboxes of a workspace", [ina, bea], false)),
    ...(await meet("mailboxes of two workspaces", [ina, dan], false)),
    ...(await meet("two mailboxes of a workspace, through a gateway", [gate, jan], true)),
    ...(await meet("mailboxes of two workspaces, through a gateway", [gate, eva], true)),
    await robot("a robot that repeats itself", ann, repeating),
    await robot("a robot that sends two mails for one", bea, doubling),
    await robot("a robot, answered by key", kim, repeating),
  ];
}

/** A pending draft of a loop that only the limit keeps from being sent. `ends`: when it may be, in milliseconds. */
type Kept = { loop: Loop; draft: Record<string, any>; ends: number };

/** Returns such a draft once a person was asked about it: its approver, or in a review. */
async function keptDraft(world: LoopWorld, loop: Loop): Promise<Kept | undefined> {
  const { mailbox, to } = loop;
  const [client] = world.clients(mailbox);
  const { data } = await client!.ask(`GET /v1/drafts?status=pending&identity_id=${mailbox.id}&limit=100`);
  const draft = data.find((each: { to: string[] }) => each.to.includes(to));
  if (!draft) return undefined;
  const history = await client!.ask(`GET /v1/drafts/${draft.id}/history?limit=100`);
  const returned = history.data.findLast(({ type }: { type: string }) => type === "DraftReturnedToPending");
  const ends = Date.parse(/which is the limit.* after (\S+)$/.exec(returned?.data.because ?? "")?.[1] ?? "");
  const { needs_review } = await client!.ask(`GET /v1/threads/${draft.thread_id}`);
  const isAsked = mailbox.isAsked ? draft.notification_status.state === "sent" : needs_review;
  return isAsked && ends > Date.now() ? { loop, draft, ends } : undefined;
}

/** Waits until a person was asked about each loop. Then a key can neither approve, send nor write an answer, on any instance. */
async function judgeEnds({ world, loops, report }: Run): Promise<Kept[]> {
  const all: Kept[] = [];
  let refused = 0;
  for (const loop of loops.filter(({ isEndless }) => isEndless)) {
    if (loop.mailbox.isByKey) {
      await until(`${loop.name}: a refusal`, async () => loop.mailbox.refused.some(isRefused), withinMs);
      continue;
    }
    const kept = await until(`${loop.name}: a person who is asked, and why`, () => keptDraft(world, loop), withinMs);
    all.push(kept);
    for (const { api } of world.clients(loop.mailbox)) {
      for (const [line, body] of keyRequests(kept.draft)) {
        const answer = await api(line, body);
        if (isRefused(answer)) refused += 1;
        else report.violation(`${loop.name}: ${line} was answered ${answer.status} ${JSON.stringify(answer.body)}`);
      }
    }
  }
  report.figure("answers by key that were refused", refused);
  return all;
}

const keyRequests = ({ id, thread_id, based_on_message_id }: Kept["draft"]): [line: string, body?: object][] => [
  [`POST /v1/drafts/${id}/approve`],
  [`POST /v1/drafts/${id}/send`],
  ["POST /v1/emails/reply", { thread_id, based_on_message_id, body_text: "Once more." }],
];

const isRefused = ({ status, body }: ClientAnswer): boolean =>
  status === 422 && body.error === "loop_guarded" && Date.parse(body.ends_at) > Date.now();

/** Counts at the relay what left for each address. */
function judgeCounts({ world, loops, most, report }: Run): void {
  for (const { name, mailbox, to, isEndless, begun } of loops) {
    const answers = world.left(mailbox, to) - begun;
    report.figure(name, `${answers} answers`);
    if (answers > most) report.violation(`${name}: ${answers} answers left, ${most} may`);
    if (isEndless && answers < most) report.violation(`${name}: it ended after ${answers} answers`);
  }
}

/** After the limit's end a key can send an answer that was kept, and a setting approves the answer to another mail. */
async function judgeLater({ world }: Run, kept: readonly Kept[]): Promise<void> {
  const [byKey, byGrant] = kept.filter(({ loop }) => world.isRobot(loop.to)) as [Kept, Kept];
  const leaves = async ({ loop: { name, mailbox, to } }: Kept, act: () => Promise<unknown>): Promise<void> => {
    const before = world.left(mailbox, to);
    await act();
    await until(`${name}: one more after the limit's end`, async () => world.left(mailbox, to) > before, withinMs);
  };
  await leaves(byKey, () => world.clients(byKey.loop.mailbox)[0]!.ask(`POST /v1/drafts/${byKey.draft.id}/send`));
  await leaves(byGrant, () => world.write(byGrant.loop.to, byGrant.loop.mailbox.address, { text: "Good morning." }));
}
