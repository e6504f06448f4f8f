import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { openMailer } from "#test/mail/in/smtpSender.ts";
import { type Installation, openInstallation, type RunningInstance } from "#test/support/installation.ts";
import { askQuestion, openTenant, type Tenant } from "#test/support/tenant.ts";
import { residentMegabytes } from "../support/memory.ts";
import { allOf, inParallel, type Proof, type Report, spread } from "./proof.ts";
import { type HostileMail, hostileMail } from "./strangerMail.ts";

/** Addresses that strangers write from; our own relays would be exempt from the limits. */
const [stranger, customer] = ["127.0.0.2", "127.0.0.3"];
/**
 * Maximum number of milliseconds for a request, and until another workspace's mail is readable: at full size, on an otherwise idle machine.
 */
const mostMs = { answer: 1_000, filed: 2_000 };
const lookEveryMs = 100;

type Attack = { instance: RunningInstance; attacked: Tenant; report: Report; size: number };

export const strangers: Proof = {
  name: "strangers",
  title:
    "hostile mail, large JSON and 1,200 idle or trickling connections: the service answers meanwhile, and another workspace's mail is filed",
  unit: "hostile mails, and a tenth as many large bodies",
  full: 50,
  checked: 26,
  sample: 4,
  async run({ size, report }) {
    const installation = await openInstallation({
      env: { SMTP_IN_RELAYS: "192.0.2.0/24" },
      here: size <= strangers.sample,
    });
    try {
      const instance = await installation.run();
      const attack = { instance, attacked: await openTenant(installation, instance), report, size };
      const other = await openTenant(installation, instance);
      // Made beforehand: this process's own work would count as the service's.
      const mails = hostileMail(size);
      const bodies = largeBodies(isFull(size) ? 27 : 4);
      for (const [what, work] of Object.entries({
        "hostile mail": () => sendHostile(attack, mails),
        "large JSON": () => postLarge(attack, bodies),
        "idle and trickling connections": () => holdConnections(attack),
      }))
        await watch({ installation, attack, other }, what, work);
      const memory = instance.pid && residentMegabytes(instance.pid)?.most;
      if (memory) report.figure("resident memory at most, MB", Math.round(memory));
    } finally {
      await installation.close();
    }
  },
};

const isFull = (size: number): boolean => size >= strangers.full;

/** Checks what others notice of an attack: their requests are answered, and their mail is filed. */
async function watch(
  { installation, attack, other }: { installation: Installation; attack: Attack; other: Tenant },
  what: string,
  work: () => Promise<void>,
): Promise<void> {
  const { instance, attacked, report, size } = attack;
  let isOver = false;
  const again = async (name: string, limitMs: number, look: () => Promise<void>): Promise<void> => {
    const took: number[] = [];
    do {
      const began = performance.now();
      await look();
      took.push(performance.now() - began);
      await sleep(lookEveryMs);
    } while (!isOver);
    report.figure(`${name} during ${what}`, spread(took));
    const worst = Math.round(Math.max(...took));
    if (isFull(size) && worst > limitMs) report.violation(`${name} took ${worst} ms during ${what}`);
  };
  const expect200 = async (line: string, status: Promise<number>): Promise<void> => {
    if ((await status) !== 200) report.violation(`${line} was answered ${await status} during ${what}`);
  };
  const watching = Promise.all([
    again("/healthz", mostMs.answer, () =>
      expect200(
        "/healthz",
        fetch(`${instance.url}/healthz`).then(({ status }) => status),
      ),
    ),
    // Uses the very key whose large bodies are refused and arrive slowly.
    again("a small PATCH", mostMs.answer, () => {
      const answer = attacked.at(instance).api("PATCH /v1/workspaces/me", { sending_paused: false });
      return expect200(
        "a small PATCH",
        answer.then(({ status }) => status),
      );
    }),
    again("another's mail", mostMs.filed, async () => {
      const mailer = await openMailer(instance.smtpPort, { localAddress: customer });
      await askQuestion(installation, other, { mailer }).finally(mailer.close);
    }),
  ]);
  // A failure is thrown once the attack is over.
  watching.catch(() => {});
  await work().finally(() => {
    isOver = true;
  });
  await watching;
}

/** Checks that every mail gets an answer: it is accepted, or refused temporarily. */
async function sendHostile({ instance, attacked, report }: Attack, mails: readonly HostileMail[]): Promise<void> {
  let taken = 0;
  await inParallel(mails, 4, async ({ kind, raw, tags }, n) => {
    const mailer = await openMailer(instance.smtpPort, { localAddress: stranger });
    const address = attacked.identity.email_address;
    const to = Array.from({ length: tags }, (_, tag) => address.replace("@", `+${n}-${tag}@`));
    const answer = await mailer.send(raw, to, "stranger@stranger.example").catch((error: Error) => error.message);
    if (!/^\d{3} /m.test(answer)) report.violation(`${kind} got no answer: ${answer}`);
    if (answer.startsWith("250")) taken += 1;
    mailer.close();
    report.progress(n + 1, mails.length, "hostile mails");
  });
  report.figure("hostile mails taken, the others refused for now", `${taken} of ${mails.length}`);
}

const largeBodies = (megabytes: number): Buffer<ArrayBuffer>[] => [
  Buffer.from(`{"metadata":{${Array.from({ length: megabytes * 88_000 }, (_, n) => `"k${n}":1`).join(",")}}}`),
  Buffer.from(`[${"0,".repeat(megabytes * 650_000)}0]`),
  Buffer.from(`${"[".repeat(megabytes * 500_000)}${"]".repeat(megabytes * 500_000)}`),
];

/** Posts large bodies; each is refused with an answer. */
async function postLarge({ instance, attacked, report, size }: Attack, bodies: Buffer<ArrayBuffer>[]): Promise<void> {
  const count = Math.max(2, Math.round(size / 10));
  let good = 0;
  for (let n = 0; n < count; n++) {
    const { status } = await fetch(`${instance.url}/v1/emails/send`, {
      method: "POST",
      headers: { authorization: `Bearer ${attacked.key}`, "content-type": "application/json" },
      body: bodies[n % bodies.length],
    });
    if ([413, 422].includes(status)) good += 1;
    report.progress(n + 1, count, "large bodies");
  }
  allOf(report, "large bodies refused", { good, of: count });
}

/** Holds connections from many addresses to the receiver and to HTTP: some silent, some with a byte now and then. */
async function holdConnections({ instance, attacked, report, size }: Attack): Promise<void> {
  const httpPort = Number(new URL(instance.url).port);
  const kinds = [
    { port: instance.smtpPort, opening: "", trickle: "" },
    { port: instance.smtpPort, opening: "", trickle: "N" },
    { port: httpPort, opening: "", trickle: "" },
    ...openings(attacked.key).map((opening) => ({ port: httpPort, opening, trickle: "x" })),
  ];
  const held = kinds.flatMap(({ port, opening, trickle }) =>
    Array.from({ length: isFull(size) ? 200 : 20 }, (_, n) => {
      const localAddress = `127.0.${1 + (n % 20)}.9`;
      const socket = connect({ port, host: "127.0.0.1", localAddress, allowHalfOpen: true });
      socket.on("error", () => {}).resume();
      if (opening !== "") socket.write(opening);
      return { socket, trickle };
    }),
  );
  const trickling = setInterval(() => {
    for (const { socket, trickle } of held) if (trickle !== "" && socket.writable) socket.write(trickle);
  }, 500);
  await sleep(isFull(size) ? 20_000 : 2_000);
  clearInterval(trickling);
  report.figure("connections held at once", held.filter(({ socket }) => !socket.closed).length);
  for (const { socket } of held) socket.destroy();
}

/** Returns the starts of requests: endless headers, and a small and a large body with a valid key. */
function openings(key: string): string[] {
  const post = (length: number) =>
    `POST /v1/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n{"subject":"`;
  return ["GET /v1/threads HTTP/1.1\r\nHost: x\r\nX-Slow: ", post(1_000), post(36 * 1024 * 1024)];
}
