import { randomUUID } from "node:crypto";
import { updateWorkspace } from "#src/commands/workspaces.ts";
import { composeBeside } from "#test/support/besideService.ts";
import { operator } from "#test/support/cause.ts";
import { type Client, until } from "../support/client.ts";
import type { Instance } from "../support/instance.ts";
import { ask, type Conversation, type Identity, submit } from "./conversation.ts";
import { cutOff, takesAPart } from "./cutOff.ts";
import { inParallel, type Proof, percentile, type Report } from "./proof.ts";
import { openSender } from "./sender.ts";
import { startSlowRelay } from "./slowRelay.ts";
import { openWorld, type Reached, sameSecrets, type World } from "./world.ts";

const perThread = 20;
/** Of every hundred deliveries one round, in which an instance is killed or stopped while so many more are under way. */
const perRound = 100;
const underWay = 40;
const replyMs = 50;
const waitMs = 120_000;
const takesWithinMs = 10_000;
const mostBatches = 5;

/** The clocks of the two machines are five minutes apart. */
const fiveMinutesAhead = `--import=data:text/javascript;base64,${Buffer.from(
  `const Own = Date;
   globalThis.Date = class Date extends Own {
     constructor(...given) { given.length > 0 ? super(...given) : super(Own.now() + 300_000); }
     static now() { return Own.now() + 300_000; }
   };`,
).toString("base64")}`;
const machines: readonly Record<string, string>[] = [{ NODE_OPTIONS: fiveMinutesAhead }, {}];

/** Two instances share the deliveries; one that is killed or stopped is missed by nobody for long, and nothing is sent twice. */
export const instances: Proof = {
  name: "instances",
  title:
    "two instances, their clocks five minutes apart, share the deliveries; one is killed or stopped again and again",
  unit: "deliveries, and a kill or stop for every hundred",
  full: 2_000,
  checked: 200,
  sample: 20,
  async run(size, report) {
    const relay = await startSlowRelay(replyMs);
    const isSample = size <= this.sample;
    const settings = { ...sameSecrets, MAIL_PROVIDER: "smtp", SMTP_URL: relay.url };
    const world = await openWorld(settings, { here: isSample });
    const beside = composeBeside({
      ownerUrl: world.env.DATABASE_OWNER_URL as string,
      serviceUrl: world.env.DATABASE_URL as string,
    });
    try {
      // In a sample the first is killed once, and the other is in this process.
      const running: Reached[] = [await world.start(machines[0]), await world.reach(machines[1])];
      const agent = await openAgent({ world, beside, report }, running[0]!);
      await share({ world, report, agent }, { size, client: world.client(running[0]!) });

      const took = { work: [] as number[], plan: [] as number[] };
      const rounds = Math.max(1, Math.round(size / perRound));
      for (let round = 0; round < rounds; round++) {
        const [victim, how] = [round % 2, round % 4 < 2 ? "SIGKILL" : "SIGSTOP"] as const;
        const survivor = world.client(running[1 - victim]!);
        const machine = running[victim] as Instance;
        const batch = await atWork({ world, agent, client: survivor }, machine, Math.min(underWay, size));
        const { happen } = agent;
        const measured = await cutOff({ world, report }, { victim: machine, how, happen, timed: !isSample });
        took.work.push(measured.workMs);
        took.plan.push(measured.planMs);
        if (how === "SIGSTOP") await machine.kill("SIGCONT");
        else if (round + 1 < rounds) running[victim] = await world.start(machines[victim]);
        await agent.ended(batch);
        report.progress(round + 1, rounds, "kills and stops");
      }
      report.figure("kills and stops", rounds);
      for (const [what, ms] of [
        ["its work went on after, ms", took.work],
        ["planning went on after, ms", took.plan],
      ] as const)
        report.figure(what, `median ${percentile(ms, 50)}, worst ${Math.max(...ms)}`);
      await judge({ world, report }, { tokens: agent.tokens, mails: relay.mails });
    } finally {
      await beside.close();
      await world.close();
      await relay.close();
    }
  },
};

/** Lets drafts go until this instance has some of them in its hands: on a busy machine the other may have been done before. Answers the last ones. */
async function atWork(
  { world, agent, client }: { world: World; agent: Agent; client: Client },
  machine: Instance,
  size: number,
): Promise<string[]> {
  for (let batches = 1; ; batches++) {
    const batch = await agent.backlog(client, size);
    await agent.letGo(client);
    try {
      await until("work in its hands", () => takesAPart(world, machine), takesWithinMs);
      return batch;
    } catch (error) {
      if (batches === mostBatches) throw error;
    }
    await agent.ended(batch);
  }
}

type Proving = { world: World; report: Report };
type Agent = Awaited<ReturnType<typeof openAgent>>;

/** Somebody who has drafts approved while the workspace is paused, and lets them go together. Each mail's text is a token of its own. */
async function openAgent(
  { world, beside, report }: Proving & { beside: ReturnType<typeof composeBeside> },
  instance: Reached,
) {
  const client = world.client(instance);
  const { id: workspaceId } = await client.ask("GET /v1/workspaces/me");
  const identity: Identity = await client.identity({ approval_channel: undefined });
  const sender = await openSender(instance.smtpPort);
  const threads: Conversation[] = [];
  const tokens = new Map<string, string>();
  const approve = { type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested: true } as const;

  return {
    /** By draft. */
    tokens: tokens as ReadonlyMap<string, string>,
    async backlog(by: Client, size: number): Promise<string[]> {
      const wanted = Math.min(Math.ceil(size / perThread) + 1, 100);
      while (threads.length < wanted) threads.push(await ask(world, identity, sender.send));
      await by.ask("PATCH /v1/workspaces/me", { sending_paused: true });
      const drafts: string[] = [];
      await inParallel(Array.from({ length: size }), 8, async (_, n) => {
        const token = randomUUID();
        const { id } = await submit(by, threads[n % threads.length]!, token);
        tokens.set(id, token);
        drafts.push(id);
        await beside.deps.drafts.handle(id, { ...approve, tokenSha256: "a person's" }, operator(workspaceId));
        report.progress(drafts.length, size, "approved");
      });
      return drafts;
    },
    /** Something that is planned, and that no instance answers for. */
    happen: () => updateWorkspace(beside.deps, { workspaceId, name: "Renamed" }, operator(workspaceId)),
    letGo: (by: Client) => by.ask("PATCH /v1/workspaces/me", { sending_paused: false }),
    async ended(drafts: readonly string[]): Promise<void> {
      const streams = drafts.map((id) => `draft-${id}`);
      await until("the end of all drafts", async () => (await endsOf(world, streams)).length >= streams.length, waitMs);
    },
  };
}

const endsOf = (world: World, streams: readonly string[]) =>
  world.rows<{ stream: string; type: string; code: string | null }>(
    `select stream_id as stream, type, data ->> 'code' as code from es.events
     where type in ('DraftSent', 'DraftFailed', 'DraftMarkedStale') and stream_id = any($1)`,
    [streams],
  );

async function share(
  { world, report, agent }: Proving & { agent: Agent },
  { size, client }: { size: number; client: Client },
): Promise<void> {
  const drafts = await agent.backlog(client, size);
  const began = performance.now();
  await agent.letGo(client);
  await agent.ended(drafts);
  report.figure("deliveries a second", Math.round((size * 1000) / (performance.now() - began)));
  const shares = await world.rows<{ instance: string; n: number }>(
    `select data ->> 'instanceId' as instance, count(*)::int as n from es.events where type = 'DeliveryStarted' group by 1`,
  );
  const percent = shares.map(({ n }) => Math.round((100 * n) / shares.reduce((sum, each) => sum + each.n, 0)));
  report.figure("each one's part of the deliveries, percent", percent.join(" and "));
  if (size >= perRound && !(percent.length === 2 && percent.every((part) => part >= 30 && part <= 70)))
    report.violation(`the instances did ${percent.join(" and ")} percent`);
}

type Taken = { content: Buffer };

/** Every draft came to an end; one that was sent left once, and one of which that is not known at most once. */
async function judge(
  { world, report }: Proving,
  { tokens, mails }: { tokens: ReadonlyMap<string, string>; mails: readonly Taken[] },
): Promise<void> {
  const copies = new Map<string, number>();
  for (const { content } of mails) {
    for (const [token] of content.toString("latin1").matchAll(uuid)) copies.set(token, (copies.get(token) ?? 0) + 1);
  }
  const ends = await endsOf(
    world,
    [...tokens.keys()].map((id) => `draft-${id}`),
  );
  const byKind: Record<string, number> = {};
  for (const { stream, type, code } of ends) {
    const draftId = stream.slice("draft-".length);
    const left = copies.get(tokens.get(draftId) as string) ?? 0;
    byKind[code ?? type] = (byKind[code ?? type] ?? 0) + 1;
    if (type === "DraftSent" ? left !== 1 : left > 1)
      report.violation(`${stream} (${code ?? type}) left ${left} times`);
    if (type !== "DraftSent" && code !== "unconfirmed") report.violation(`${stream} ended as ${code ?? type}`);
  }
  report.figure(
    "drafts by end",
    Object.entries(byKind)
      .map(([kind, n]) => `${n} ${kind}`)
      .join(", "),
  );
  if (new Set(ends.map(({ stream }) => stream)).size !== tokens.size)
    report.violation(`${tokens.size} drafts were approved, and ${ends.length} ended`);
  const [{ n: again } = { n: 0 }] = await world.rows<{ n: number }>(
    "select count(*)::int as n from es.events where type = 'DraftRequeued'",
  );
  report.figure("drafts queued again", again);
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
