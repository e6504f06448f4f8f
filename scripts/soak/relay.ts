import { type Fault, startSmtpRelay } from "#test/support/smtpRelay.ts";
import { ask, customer, endOf, submit } from "./conversation.ts";
import { judgeReadModels } from "./evidence.ts";
import { allOf, type Proof } from "./proof.ts";
import { openSender } from "./sender.ts";
import { openWorld } from "./world.ts";

/** What a relay does wrong once, and how the draft has to end: at most `taken` copies at the relay, and exactly that many where it is sent. */
type Case = { name: string; faults: Fault[]; ends: string; code?: string; taken: number; text?: string };

/** More than one packet, so that the relay can fail in the middle of it. */
const long = "A line of a long answer.\n".repeat(10_000);

const once = (at: Fault["at"], how: string, taken = false): Fault[] => [{ at, how, taken, times: 1 }];
const always = (at: Fault["at"], how: string): Fault[] => [{ at, how }];

const cases: readonly Case[] = [
  { name: "no fault", faults: [], ends: "sent", taken: 1 },
  ...(["connect", "greeting", "EHLO", "MAIL", "RCPT", "DATA"] as const).map((at) => ({
    name: `connection lost at ${at}`,
    faults: once(at, "drop"),
    ends: "sent",
    taken: 1,
  })),
  ...(["MAIL", "RCPT", "DATA", "dot"] as const).flatMap((at) => [
    { name: `451 at ${at}, once`, faults: once(at, "451 4.3.0 later"), ends: "sent", taken: 1 },
    { name: `451 at ${at}, always`, faults: always(at, "451 4.3.0 later"), ends: "failed", taken: 0 },
    { name: `550 at ${at}`, faults: once(at, "550 5.7.1 no"), ends: "failed", taken: 0 },
  ]),
  {
    name: "connection reset in the content",
    faults: once("content", "reset"),
    ends: "failed",
    code: "unconfirmed",
    taken: 0,
    text: long,
  },
  ...[false, true].flatMap((taken) =>
    ["drop", "reset", "garbage"].map((how) => ({
      name: `${how} after the final dot, ${taken ? "taken" : "not taken"}`,
      faults: once("dot", how, taken),
      ends: "failed",
      code: "unconfirmed",
      taken: taken ? 1 : 0,
    })),
  ),
];

/** One of each kind: what is tried again, what is refused, and the gap after the final dot from both sides. */
const sampled = [
  "connection lost at DATA",
  "451 at RCPT, once",
  "550 at dot",
  "drop after the final dot, not taken",
  "drop after the final dot, taken",
];

export const relay: Proof = {
  name: "relay",
  title: "an SMTP relay that fails at every stage, the gap after the final dot included",
  unit: "rounds of every fault; one round: of one of each kind",
  full: 20,
  checked: 2,
  sample: 1,
  async run(size, report) {
    const server = await startSmtpRelay();
    const world = await openWorld({ MAIL_PROVIDER: "smtp", SMTP_URL: server.url }, { here: size <= relay.sample });
    try {
      const instance = await world.reach();
      const client = world.client(instance);
      // Without approval mail: every mail that the relay sees is the draft's.
      const identity = await client.identity({ approval_channel: undefined });
      const sender = await openSender(instance.smtpPort);
      const tried = size < 2 ? cases.filter(({ name }) => sampled.includes(name)) : cases;
      let right = 0;
      let again = 0;
      for (let round = 0; round < size; round++) {
        for (const [n, { name, faults, ends, code, taken, text }] of tried.entries()) {
          server.setFaults();
          const draft = await submit(client, await ask(world, identity, sender.send), text);
          const before = copies(server.mails);
          server.setFaults(...faults);
          await client.ask(`POST /v1/drafts/${draft.id}/send`);
          const end = await endOf(client, draft.id);
          const arrived = copies(server.mails) - before;
          const good = end.status === ends && (code === undefined || end.failure_code === code) && arrived === taken;
          if (good) right += 1;
          else
            report.violation(
              `${name}: draft ${draft.id} ended ${end.status} ${end.failure_code ?? ""}, the relay took ${arrived}`,
            );
          if (arrived > 1) again += 1;
          report.progress(round * tried.length + n + 1, size * tried.length, name);
        }
      }
      server.setFaults();
      sender.close();
      allOf(report, "drafts with the right end", { good: right, of: size * tried.length });
      report.figure("handed over a second time", again);
      report.figure("kinds of fault", tried.length);
      if (size >= this.checked)
        report.figure("read model rows equal to a replay", await judgeReadModels(world, report));
    } finally {
      await world.close();
      await server.close();
    }
  },
};

const copies = (mails: readonly { to: string[] }[]): number => mails.filter(({ to }) => to.includes(customer)).length;
