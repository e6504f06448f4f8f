import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NotConnected } from "#src/mail/mailProvider.ts";
import { createSmtpProvider } from "#src/mail/out/smtpProvider.ts";
import { smtpReplies } from "#test/mail/in/smtpReplies.ts";
import { certificateOf } from "#test/support/certificate.ts";
import { mail } from "#test/support/inProcess.ts";
import { openInstallation } from "#test/support/installation.ts";
import { emptyLetter } from "#test/support/letter.ts";
import { openTenant } from "#test/support/tenant.ts";
import { until } from "../support/client.ts";
import { freePort } from "../support/freePort.ts";
import { type DebianRoom, install, openDebianRoom } from "./debianRoom.ts";
import { type DebianServer, debianServers } from "./debianServers.ts";
import type { JudgedInstallation } from "./evidence.ts";
import { allOf, type Proof } from "./proof.ts";

const from = "ann@customer.example";

/** An instance of the service that mail is sent to. `encrypted`: it offers STARTTLS. */
type Target = { port: number; to: string; encrypted: boolean };
type Judged = JudgedInstallation & { size: number };

/** In a sample no server of Debian runs: only a client that does what exim does. */
export const servers: Proof = {
  name: "servers",
  title:
    "lone mails of exim, postfix, OpenSMTPD and sendmail of Debian, without TLS and with STARTTLS: each is stored once and answered once; exim and postfix take our mail",
  unit: "lone mails of each server, without TLS and with it",
  full: 10,
  checked: 4,
  sample: 4,
  async run({ size, report }) {
    const isSample = size <= servers.sample;
    const installation = await openInstallation({ here: isSample });
    try {
      const plain = await installation.run();
      const { identity } = await openTenant(installation, plain);
      const to = identity.email_address;
      const targets: Target[] = [{ port: plain.smtpPort, to, encrypted: false }];
      if (!isSample) {
        const { smtpPort: port } = await installation.run(await certificateSettings(installation.dataDir));
        targets.push({ port, to, encrypted: true });
      }
      const judged = { installation, report, size };
      await sendAsExim(judged, targets[0]!);
      if (isSample) return;
      for (const server of debianServers)
        await tryServer(judged, server, targets).catch(({ message }) => report.violation(`${server.name}: ${message}`));
    } finally {
      await installation.close();
    }
  },
};

async function certificateSettings(directory: string): Promise<Record<string, string>> {
  const { cert, key } = certificateOf("mx.agents.localhost");
  const [SMTP_IN_TLS_CERT, SMTP_IN_TLS_KEY] = [join(directory, "mx.pem"), join(directory, "mx.key")];
  await writeFile(SMTP_IN_TLS_CERT, cert);
  await writeFile(SMTP_IN_TLS_KEY, key);
  return { SMTP_IN_TLS_CERT, SMTP_IN_TLS_KEY };
}

/** Installs the server, has it send and take mail, and removes it. A server that this machine cannot run is skipped with a word. */
async function tryServer(judged: Judged, server: DebianServer, targets: readonly Target[]): Promise<void> {
  const { report } = judged;
  report.progress(debianServers.indexOf(server), debianServers.length, `installing ${server.name}`);
  const directory = await mkdtemp(join(tmpdir(), "countersign-room-"));
  const room = await openDebianRoom(directory);
  try {
    const refusal = await room.run(install(server.package)).then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (refusal !== undefined) {
      report.figure(server.name, `skipped, it cannot be installed beside this system: ${refusal}`);
      return;
    }
    const own = await freePort();
    const rest = judged.installation.relay.port;
    for (const target of targets) {
      await room.run(server.start({ service: target.port, rest, own }));
      await deliverBy(judged, { server, room }, target);
    }
    if (server.takesMail) await deliverTo(judged, server, own);
  } finally {
    await room.close();
  }
}

async function deliverBy(
  { installation, report, size }: Judged,
  { server, room }: { server: DebianServer; room: DebianRoom },
  { to, encrypted }: Target,
): Promise<void> {
  const what = `${server.name}, ${encrypted ? "STARTTLS" : "without TLS"}`;
  const ids = idsFor(what, size);
  for (const [n, id] of ids.entries()) {
    const content = mail({ id, from, to, subject: what }).replaceAll("\r\n", "\n");
    await room.run(`cat <<'END' | ${server.send} -f ${from} ${to}\n${content}\nEND`);
    await until(`${what}: an empty queue`, async () => (await room.run(server.queue)) === "");
    report.progress(n + 1, size, what);
  }
  const log = await room.run(`cat ${server.log}; : > ${server.log}`);
  const answers = [...log.matchAll(server.attempt)].map(([, answer]) => answer);
  const good = answers.filter((answer) => answer === "250").length;
  allOf(report, `${what}: answered`, { good, of: size });
  const shown = log.slice(-1_500);
  if (answers.length !== size) report.violation(`${what}: ${answers.length} tries for ${size} mails\n${shown}`);
  if (server.encrypted.test(log) !== encrypted) report.violation(`${what}: the log says otherwise\n${shown}`);
  await judgeStored({ installation, report }, { what, ids });
}

/** Checks that each mail is in the ledger exactly once, as a message. */
async function judgeStored(
  { installation, report }: JudgedInstallation,
  { what, ids }: { what: string; ids: readonly string[] },
): Promise<void> {
  const stored = async () =>
    installation.rows<{ copies: number; filed: number }>(
      `select count(*)::int as copies, count(filed_position)::int as filed from read.inbound
       where rfc_message_id = any($1) group by rfc_message_id`,
      [ids.map((id) => `<${id}>`)],
    );
  const areFiled = async () => (await stored()).filter(({ filed }) => filed > 0).length === ids.length;
  await until(`${what}: all mails filed`, areFiled).catch(() => {});
  const good = (await stored()).filter(({ copies, filed }) => copies === 1 && filed === 1).length;
  allOf(report, `${what}: stored once`, { good, of: ids.length });
}

const idsFor = (what: string, size: number): string[] =>
  Array.from({ length: size }, (_, n) => `${what.replaceAll(/\W+/g, "-")}-${n}@customer.example`);

/** Does what exim does with a lone mail: pipelines QUIT behind the final dot, ends its sending direction, and reads on. */
async function sendAsExim({ installation, report, size }: Judged, { port, to }: Target): Promise<void> {
  const what = "a client that ends its sending direction";
  const ids = idsFor(what, size);
  let good = 0;
  for (const id of ids) {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    const closed = once(socket, "close");
    const reply = smtpReplies(socket);
    await reply();
    for (const line of ["EHLO mx.customer.example", `MAIL FROM:<${from}>`, `RCPT TO:<${to}>`, "DATA"]) {
      socket.write(`${line}\r\n`);
      await reply();
    }
    socket.end(`${mail({ id, from, to })}\r\n.\r\nQUIT\r\n`);
    const answers = [await reply().catch(String), await reply().catch(String)];
    if (answers[0]!.startsWith("250") && answers[1]!.startsWith("221")) good += 1;
    await closed;
  }
  allOf(report, `${what}: answered`, { good, of: size });
  await judgeStored({ installation, report }, { what, ids });
}

/** Sends mail to the server as its package sets it up: with a certificate that nobody signed. */
async function deliverTo({ installation, report }: Judged, { name }: DebianServer, port: number): Promise<void> {
  const untrusted = createSmtpProvider(`smtp://127.0.0.1:${port}`);
  const reason = await untrusted.connect({ comesBack: true }).catch((error) => error);
  await untrusted.close();
  if (!(reason instanceof NotConnected) || !/not trusted.*caFile.*ignoreTLS/.test(reason.message))
    report.violation(`${name} as a relay, without options: ${reason.message ?? "a connection"}`);
  for (const option of ["ignoreTLS=true", "tls.rejectUnauthorized=false"]) {
    const subject = `to ${name} with ${option}`;
    const messageId = `<${name}-${option}@agents.localhost>`;
    const mime = Buffer.from(mail({ id: messageId.slice(1, -1), to: from, subject }));
    const provider = createSmtpProvider(`smtp://127.0.0.1:${port}?${option}`);
    const connection = await provider.connect();
    const envelope = { from: "agent@agents.localhost", to: [from] };
    const outcome = await connection.handOver(
      { attemptId: subject, envelope, messageId, mime, letter: emptyLetter },
      () => true,
    );
    await provider.close();
    if (outcome.kind !== "accepted") report.violation(`${subject}: ${JSON.stringify(outcome)}`);
    const passedOn = () => installation.relay.mails.filter(({ content }) => content.includes(messageId)).length;
    await until(`${subject}: passed on`, async () => passedOn() > 0).catch(() => {});
    allOf(report, `${subject}: passed on`, { good: passedOn(), of: 1 });
  }
}
