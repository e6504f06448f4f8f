import { createHash } from "node:crypto";
import { until } from "../support/client.ts";
import { judgeReadModels } from "./evidence.ts";
import { type CorpusMail, hasListMail, listMail, ownMail } from "./mailCorpus.ts";
import { allOf, inParallel, type Proof, type Report } from "./proof.ts";
import { openSender, type Sender } from "./sender.ts";
import { openWorld, type Reached, type World } from "./world.ts";

const connections = 8;
const orders = ["as filed", "backwards", "shuffled"] as const;
const sampledOrders = ["backwards"] as const;

export const corpus: Proof = {
  name: "corpus",
  title: "real mailing list mail over 8 SMTP connections, in three orders, every tenth mail twice",
  unit: "mails",
  full: 2500,
  checked: 150,
  // In one order: the one in which every answer comes before its question.
  sample: 30,
  async run(size, report) {
    if (!hasListMail()) report.figure("NOTE", "the shared list mail is absent: mail of our own instead");
    const mails = hasListMail() ? listMail(size) : ownMail(size);
    for (const order of size < 100 ? sampledOrders : orders) {
      const world = await openWorld({}, { here: size <= corpus.sample });
      try {
        await receiveAll(world, { mails: arranged(mails, order), order }, report);
      } finally {
        await world.close();
      }
    }
  },
};

type Arranged = { mails: CorpusMail[]; order: string };
type Arrival = CorpusMail & { again: boolean };

async function receiveAll(world: World, { mails, order }: Arranged, report: Report): Promise<void> {
  const instance = await world.reach();
  const client = world.client(instance);
  const identity = await client.identity();
  const arrivals = mails.flatMap((mail, n): Arrival[] => [
    { ...mail, again: false },
    ...(n % 10 === 9 ? [{ ...mail, again: true }] : []),
  ]);
  const senders = await Promise.all(Array.from({ length: connections }, () => openSender(instance.smtpPort)));
  const free = [...senders];
  const began = performance.now();
  let accepted = 0;
  await inParallel(arrivals, connections, async ({ raw, name }) => {
    const sender = free.pop() as Sender;
    const told = await sender.send(raw, identity.email_address);
    free.push(sender);
    if (told.startsWith("250")) accepted += 1;
    else report.violation(`${order}: ${name} was refused: ${told}`);
    report.progress(accepted, arrivals.length, order);
  });
  const acceptedIn = performance.now() - began;
  for (const sender of senders) sender.close();
  await until("every mail filed", async () => (await unfiled(world)) === 0, 300_000);
  const filedIn = performance.now() - began;

  allOf(report, `${order}: accepted`, { good: accepted, of: arrivals.length });
  report.figure(
    `${order}: rate`,
    `${Math.round((accepted / acceptedIn) * 1000)} mails/s acknowledged, ${Math.round((accepted / filedIn) * 1000)} filed`,
  );
  await judgeStored(world, { arrivals, order }, report);
  await judgePartition(world, { mails, order }, report);
  await judgeRaw({ world, instance }, { mails, order }, report);
  report.figure(`${order}: read model rows equal to a replay`, await judgeReadModels(world, report));
}

const unfiled = async (world: World): Promise<number> => {
  const [row] = await world.rows<{ left: string }>(
    `select (select count(*) from es.events where type = 'MailReceived') - count(*) filter (where settled) as left
     from (select disposition = 'duplicate' or filed_position is not null and exists
             (select from read.messages m where m.id = i.message_id) as settled from read.inbound i) ledger`,
  );
  return Number(row?.left ?? 1);
};

/** One message per mail, also where it came twice; one ledger entry per delivery. */
async function judgeStored(
  world: World,
  { arrivals, order }: { arrivals: Arrival[]; order: string },
  report: Report,
): Promise<void> {
  const entries = await world.rows<{ raw_sha256: string; disposition: string; message_id: string | null }>(
    "select raw_sha256, disposition, message_id from read.inbound",
  );
  allOf(report, `${order}: ledger entries`, { good: entries.length, of: arrivals.length });
  const expected = new Map<string, number>();
  for (const { raw } of arrivals) expected.set(sha256(raw), (expected.get(sha256(raw)) ?? 0) + 1);
  const messagesOf = new Map<string, Set<string | null>>();
  for (const { raw_sha256, message_id } of entries)
    messagesOf.set(raw_sha256, (messagesOf.get(raw_sha256) ?? new Set()).add(message_id));
  const once = [...expected.keys()].filter(
    (hash) => messagesOf.get(hash)?.size === 1 && !messagesOf.get(hash)?.has(null),
  );
  allOf(report, `${order}: stored as one message`, { good: once.length, of: expected.size });
  const [stored] = await world.rows<{ messages: string }>(
    "select count(*) as messages from read.messages where direction = 'inbound'",
  );
  const duplicates = entries.filter(({ disposition }) => disposition === "duplicate").length;
  const messages = Number(stored?.messages);
  report.figure(`${order}: messages, duplicates`, `${messages}, ${duplicates}`);
  if (messages + duplicates !== arrivals.length)
    report.violation(`${order}: ${messages} messages and ${duplicates} duplicates of ${arrivals.length} deliveries`);
}

/** Two mails are on one thread exactly where they belong to one conversation. */
async function judgePartition(world: World, { mails, order }: Arranged, report: Report): Promise<void> {
  const rows = await world.rows<{ raw_sha256: string; thread_id: string }>(
    "select i.raw_sha256, m.thread_id from read.inbound i join read.messages m on m.id = i.message_id",
  );
  const threadOf = new Map(rows.map(({ raw_sha256, thread_id }) => [raw_sha256, thread_id]));
  const threadsOf = new Map<string, Set<string | undefined>>();
  const conversationsOn = new Map<string, Set<string>>();
  for (const { raw, conversation } of mails) {
    const thread = threadOf.get(sha256(raw));
    threadsOf.set(conversation, (threadsOf.get(conversation) ?? new Set()).add(thread));
    if (thread) conversationsOn.set(thread, (conversationsOn.get(thread) ?? new Set()).add(conversation));
  }
  const right = [...threadsOf.values()].filter((threads) => {
    const [thread] = threads;
    return threads.size === 1 && thread !== undefined && conversationsOn.get(thread)?.size === 1;
  });
  allOf(report, `${order}: conversations on a thread of their own`, { good: right.length, of: threadsOf.size });
  const [alive] = await world.rows<{ threads: string }>(
    "select count(*) as threads from read.threads where merged_into is null",
  );
  allOf(report, `${order}: threads`, { good: Number(alive?.threads), of: threadsOf.size });
}

/** What the API gives back is what was sent, byte for byte. */
async function judgeRaw(
  { world, instance }: { world: World; instance: Reached },
  { mails, order }: Arranged,
  report: Report,
): Promise<void> {
  const rows = await world.rows<{ message_id: string; raw_sha256: string }>(
    "select distinct on (message_id) message_id, raw_sha256 from read.inbound where disposition <> 'duplicate' order by message_id, position",
  );
  const sent = new Set(mails.map(({ raw }) => sha256(raw)));
  let equal = 0;
  await inParallel(rows, 4, async ({ message_id, raw_sha256 }) => {
    const { status, bytes } = await world.bytes(instance, `/v1/messages/${message_id}/raw`);
    if (status === 200 && sha256(bytes) === raw_sha256 && sent.has(raw_sha256)) equal += 1;
  });
  allOf(report, `${order}: raw bytes equal`, { good: equal, of: rows.length });
}

function arranged(mails: CorpusMail[], order: (typeof orders)[number]): CorpusMail[] {
  if (order === "as filed") return mails;
  if (order === "backwards") return [...mails].reverse();
  const key = ({ name }: CorpusMail) => sha256(Buffer.from(name));
  return [...mails].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
