import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import { type Identity, type InProcess, until } from "#test/support/inProcess.ts";
import type { StoryMail, StoryTenant } from "#test/support/story/story.ts";

/** Returns the mail of a draft as it left, as text. */
export async function sentBy(service: InProcess, draftId: string): Promise<string> {
  const events = await service.store.read(`draft-${draftId}`);
  const sent = events.find(({ type }) => type === "DraftSent");
  if (!sent) throw new Error(`draft ${draftId} was not sent`);
  const [started] = await service.store.read(`delivery-${sent.data.attemptId as string}`);
  const bytes = await service.deps.blobs.get(started?.data.mimeSha256 as string);
  return (bytes as Buffer).toString();
}

type Changes = {
  subject?: string;
  text?: (text: string) => string;
  without?: readonly string[];
  headers?: readonly string[];
};

/** Changes a mail with one text part as a server on its way does. The text is sent as it is, in 8 bits. */
export function returning(
  raw: string,
  { subject, text = (same) => same, without = [], headers = [] }: Changes,
): string {
  const end = raw.indexOf("\r\n\r\n");
  const fields = raw.slice(0, end).split(/\r\n(?![ \t])/);
  const dropped = [...without, "Content-Transfer-Encoding", ...(subject === undefined ? [] : ["Subject"])];
  const kept = fields.filter((field) =>
    dropped.every((name) => !field.toLowerCase().startsWith(`${name.toLowerCase()}:`)),
  );
  const isQuoted = /^content-transfer-encoding: *quoted-printable/im.test(raw.slice(0, end));
  const body = raw.slice(end + 4);
  const plain = isQuoted
    ? body.replace(/=\r\n/g, "").replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
    : body;
  const added = subject === undefined ? [] : [`Subject: ${subject}`];
  const head = [...headers, ...kept, ...added, "Content-Transfer-Encoding: 8bit"].join("\r\n");
  return `${head}\r\n\r\n${text(plain)}`;
}

type NewBody = {
  type: string;
  encoding?: string;
  body: string;
  headers?: readonly string[];
  without?: readonly string[];
};

/** Makes a mail with the header of one that left and another body, as a gateway does that writes mail anew. */
export function rewritten(raw: string, { type, encoding = "8bit", body, headers = [], without = [] }: NewBody): string {
  const changed = ["Content-", "MIME-Version:", ...without.map((name) => `${name}:`)].map((name) => name.toLowerCase());
  const fields = raw.slice(0, raw.indexOf("\r\n\r\n")).split(/\r\n(?![ \t])/);
  const kept = fields.filter((field) => !changed.some((name) => field.toLowerCase().startsWith(name)));
  const ofBody = ["MIME-Version: 1.0", `Content-Type: ${type}`, `Content-Transfer-Encoding: ${encoding}`];
  return [...headers, ...kept, ...ofBody, "", body.replace(/\r?\n/g, "\r\n")].join("\r\n");
}

/** A part of a multipart whose boundary is “b”. */
export const part = (type: string, body: string, ...headers: string[]): string =>
  ["--b", `Content-Type: ${type}`, ...headers, "", body, ""].join("\r\n");
export const multipart = (kind: string, ...parts: string[]): { type: string; body: string } => ({
  type: `multipart/${kind}; boundary="b"`,
  body: [...parts, "--b--", ""].join("\r\n"),
});

type Scene = { service: InProcess; tenant: StoryTenant };
/** A mail that was filed: its entry in the ledger, and its message, if it is one, after its sender was authenticated. */
export type Filed = { entry: any; message: any };

/** Delivers mails, in this order. `to`: by default the tenant's identity; `from`: the envelope's sender, of each mail. */
export async function filings(
  { service, tenant }: Scene,
  mails: readonly (string | { raw: string; from: string })[],
  { to = tenant.identity, from: usual = "ann@customer.example" }: { to?: Identity; from?: string } = {},
): Promise<Filed[]> {
  const { resolve, accept } = createReception(service.deps);
  const remote = { ip: "192.0.2.1", helo: "mx.customer.example" };
  const batch = randomUUID().slice(0, 8);
  const tagged = (index: number): string => to.address.replace("@", `+${batch}-${index}@`);
  for (const [index, mail] of mails.entries()) {
    const { raw, from } = typeof mail === "string" ? { raw: mail, from: usual } : mail;
    const recipients = [{ recipient: (await resolve(to.address))!, address: tagged(index) }];
    await accept({ recipients, from, raw: Buffer.from(raw), remote });
  }
  await service.filed();
  const { data } = (await tenant.ask(`GET /v1/inbound?limit=100&identity_id=${to.id}`)).json;
  const entries = mails.map((_, index) => data.find(({ envelope }: any) => envelope.to === tagged(index)));
  const ids = entries.filter(({ disposition }) => disposition === "threaded").map(({ message_id: id }) => id as string);
  await areAuthenticated(service, ids);
  const messages = await messagesWithIds({ service, tenant }, ids);
  return entries.map((entry) => ({ entry, message: messages.get(entry.message_id) }));
}

/** Delivers a mail. */
export async function filing(scene: Scene, raw: string, options: Parameters<typeof filings>[2] = {}): Promise<Filed> {
  const [filed] = await filings(scene, [raw], options);
  return filed as Filed;
}

/** The Message-ID of a mail as text, without brackets. */
export const idOf = (raw: string): string => /^Message-ID:\s*<([^>]+)>/im.exec(raw)![1] as string;

/** Returns the kinds of the published events about a thread's received mail, oldest first. */
export async function eventsAbout(tenant: StoryTenant, { threadId }: Pick<StoryMail, "threadId">): Promise<string[]> {
  const { json } = await tenant.ask("GET /v1/events?types=email.received&limit=100");
  return json.data.filter(({ data }: any) => data.thread_id === threadId).map(({ type }: any) => type);
}

/** Reads a message. */
export async function messageWithId(service: InProcess, tenant: StoryTenant, id: string): Promise<any> {
  const found = (await messagesWithIds({ service, tenant }, [id])).get(id);
  expect(found, `message ${id}`).not.to.equal(undefined);
  return found;
}

/** Waits until the sender of a mail is authenticated, after which its event is published; returns the message. */
export async function authenticated(service: InProcess, tenant: StoryTenant, id: string): Promise<any> {
  await areAuthenticated(service, [id]);
  return messageWithId(service, tenant, id);
}

async function areAuthenticated(service: InProcess, ids: readonly string[]): Promise<void> {
  const sql = "select 1 from read.messages where id = any($1) and authentication is not null";
  await until(async () => (await service.database.reads.ofAll.query(sql, [ids])).rows.length === ids.length);
  await service.caughtUp();
}

async function messagesWithIds({ service, tenant }: Scene, ids: readonly string[]): Promise<Map<string, any>> {
  const sql = "select distinct thread_id from read.messages where id = any($1)";
  const { rows } = await service.database.reads.ofAll.query<{ thread_id: string }>(sql, [ids]);
  const read = ({ thread_id }: { thread_id: string }) =>
    tenant.ask(`GET /v1/threads/${thread_id}/messages?sort=newest&limit=100`);
  const messages = (await Promise.all(rows.map(read))).flatMap(({ json }) => json.data);
  return new Map(messages.map((message) => [message.id, message]));
}
