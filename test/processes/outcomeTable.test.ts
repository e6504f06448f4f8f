import { readFileSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { createSendGridProvider } from "#src/mail/out/sendGrid/sendGridProvider.ts";
import { createSmtpProvider } from "#src/mail/out/smtpProvider.ts";
import { inFull, itInFull } from "#test/support/full.ts";
import { failSends, faults } from "#test/support/sendGrid/faults.ts";
import { mockMail } from "#test/support/sendGrid/mail.ts";
import { mockApiKey, startMockSendGrid } from "#test/support/sendGrid/mockSendGrid.ts";
import { type RelayFault, type RelayStage, startSmtpRelay } from "#test/support/smtpRelay.ts";
import { expectSound } from "./sendSoundness.ts";
import { cause, createSendWorld } from "./sendWorld.ts";

/** A draft's end, the number of hand-overs that were begun, and how often its mail was accepted. */
type End = { state: string; attempts: number; deliveries: number };

async function endOf(provider: MailProvider, deliveries: () => number): Promise<End> {
  const world = await createSendWorld();
  const draftId = await world.submit();
  await queueSend(world.node, { draftId, kind: "api_key" }, cause);
  world.sendThrough(provider);
  const before = deliveries();
  await world.run();
  await provider.close();
  await expectSound(world, [draftId], ["sent", "failed"]);
  const { status, failureCode } = await world.state.draft(draftId);
  return {
    state: failureCode ? `${status} \`${failureCode}\`` : status,
    attempts: world.log.all.filter(({ type }) => type === "DeliveryStarted").length,
    deliveries: deliveries() - before,
  };
}

/** Opens the first connection by `first`, the others by `then`. */
const onceBy = (first: MailProvider, then: MailProvider): MailProvider => {
  let used = false;
  return {
    ...then,
    connect(caller) {
      const by = used ? then : first;
      used = true;
      return by.connect(caller);
    },
  };
};

/** Left out here: only a large mail can be answered before its end (sendGridProvider.test.ts). */
const tooSmall = "202 before the body came";
/** Faults that every run tries; a full run tries all. */
const sampled = ["reset", "401", "429, reset in 90 s", "500", "202 with 10 MB"];

type Row = { provider: string; at: string; how: string; once: End; always: End; withLog?: End };

async function sendGridRows(): Promise<Row[]> {
  const sendGrid = mockMail();
  const mock = await startMockSendGrid(sendGrid.handlers);
  const deliveries = () => sendGrid.taken.length;
  const provider = (different: object = {}) =>
    createSendGridProvider({ apiKey: mockApiKey, baseUrl: mock.url, ...different });
  const rows: Row[] = [];
  const away = () => provider({ baseUrl: "http://127.0.0.1:9" });
  sendGrid.setLogs("not bought");
  rows.push({
    ...{ provider: "SendGrid", at: "connect", how: "refused" },
    once: await endOf(onceBy(away(), provider()), deliveries),
    always: await endOf(away(), deliveries),
  });
  for (const { at, what, fault } of faults.filter(({ what }) =>
    inFull ? what !== tooSmall : sampled.includes(what),
  )) {
    const limits = what.includes("silence") ? { idleMs: 40, answerMs: 40 } : {};
    const end = (times: number) => {
      failSends(mock, fault, times);
      return endOf(provider(limits), deliveries);
    };
    const row = { provider: "SendGrid", at, how: what, once: await end(1), always: await end(99) };
    sendGrid.setLogs("readable");
    const withLog = row.always.state.includes("unconfirmed") ? { withLog: await end(99) } : {};
    sendGrid.setLogs("not bought");
    rows.push({ ...row, ...withLog });
  }
  await mock.stop();
  return rows;
}

async function smtpRows(): Promise<Row[]> {
  const stages: RelayStage[] = ["connect", "greeting", "EHLO", "AUTH", "MAIL", "RCPT", "DATA", "dot"];
  const faultsOf = (at: RelayStage): Omit<RelayFault, "times">[] => [
    ...(["drop", "reset", "stall", "garbage"] as const).map((how) => ({ at, how })),
    ...(at === "connect"
      ? []
      : [
          { at, how: "451 4.3.0 later" },
          { at, how: "550 5.7.1 no" },
        ]),
    ...(at === "dot" ? (["drop", "stall"] as const).map((how) => ({ at, how, taken: true })) : []),
  ];
  const rows: Row[] = [];
  for (const fault of stages.flatMap(faultsOf)) {
    const ms = fault.how === "stall" ? 60 : 10_000;
    const end = async (times: number): Promise<End> => {
      const relay = await startSmtpRelay([{ ...fault, times }], { password: "secret" });
      const limits = { readyMs: ms, envelopeMs: ms, contentMs: ms, answerMs: ms };
      const provider = createSmtpProvider(`smtp://agent:secret@127.0.0.1:${relay.port}`, limits);
      const end = await endOf(provider, () => relay.mails.length);
      await relay.close();
      return end;
    };
    const how = `${fault.how.replace(/ .*/, "")}${fault.taken ? ", taken" : ""}`;
    rows.push({ provider: "SMTP", at: fault.at, how, once: await end(1), always: await end(99) });
  }
  return rows;
}

const cell = ({ state, attempts, deliveries }: End) => `${state}, ${attempts}, ${deliveries}`;
const lineOf = ({ at, how, once, always, withLog }: Row) =>
  `| ${at} | ${how} | ${cell(once)} | ${cell(always)} | ${withLog ? cell(withLog) : ""} |`;

const file = new URL("../../src/mail/out/outcomes.md", import.meta.url);
/** Compares the table in the file with these rows. `WRITE_TABLES=1` writes it. */
function expectTable(provider: string, rows: readonly Row[]): unknown {
  const [begin, end] = [`<!-- outcomes: ${provider} -->`, `<!-- end: ${provider} -->`];
  const text = readFileSync(file, "utf8");
  if (!inFull) return expect(text.split("\n")).to.include.members(rows.map(lineOf));
  const head = `| goes wrong at | how | once | every time | every time, found in the log |\n|---|---|---|---|---|`;
  const made = `${begin}\n${head}\n${rows.map(lineOf).join("\n")}\n${end}`;
  const [from, to] = [text.indexOf(begin), text.indexOf(end) + end.length];
  if (process.env.WRITE_TABLES) return writeFileSync(file, text.slice(0, from) + made + text.slice(to));
  expect(text.slice(from, to)).to.equal(made);
}

function expectNoneTwice(rows: readonly Row[]): void {
  for (const row of rows) {
    for (const end of [row.once, row.always, row.withLog]) {
      expect(end?.deliveries ?? 0, lineOf(row)).to.be.at.most(1);
      if (end?.state === "sent") expect(end.deliveries, lineOf(row)).to.equal(1);
    }
    if (row.withLog) {
      const known = row.always.deliveries === 1 ? "sent" : "failed `unconfirmed`";
      expect(row.withLog.state, lineOf(row)).to.equal(known);
    }
  }
}

describe("faults of mail providers", () => {
  it("a mail by SendGrid is delivered at most once and its draft ends, whatever goes wrong, as outcomes.md shows", async () => {
    const rows = await sendGridRows();
    expectNoneTwice(rows);
    expectTable("SendGrid", rows);
  });

  itInFull(
    "a mail by SMTP is delivered at most once and its draft ends, whatever goes wrong, as outcomes.md shows",
    async () => {
      const rows = await smtpRows();
      expectNoneTwice(rows);
      expectTable("SMTP", rows);
    },
  );
});
