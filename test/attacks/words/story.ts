import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type InProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { nameOf } from "./freeStrings.ts";
import { markOf, payload } from "./hostile.ts";

/** How much of a payload a field accepts: all of it, one line, its visible characters, or only the mark. */
const levels = ["all of it", "one line", "what can be seen", "a mark alone"] as const;
type Level = (typeof levels)[number];

/** Strings that others may write, by name: the noun and its field, or the part of a mail. */
export type Words = Map<string, { mark: string; level: Level }>;

const atLevel: Record<Level, (mark: string) => string> = {
  "all of it": (mark) => payload(mark, { several: true }),
  "one line": (mark) => payload(mark),
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what the field refuses
  "what can be seen": (mark) => payload(mark).replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u206f]/g, ""),
  "a mark alone": (mark) => mark,
};

export const approver = "boss@example.com";
export const second = "second@example.com";

/** Writes a separate payload into each field, as much of it as the field accepts. */
export function writing(workspace: Pick<Workspace, "ask">) {
  const words: Words = new Map();
  const said = (name: string): { mark: string; level: Level } => {
    const known = words.get(name) ?? { mark: markOf(words.size), level: "all of it" };
    words.set(name, known);
    return known;
  };
  const write = (name: string): string => {
    const { mark, level } = said(name);
    return atLevel[level](mark);
  };

  /**
   * Sends a request whose fields have payloads. A field that the service refuses is tried again with less of its payload, so that what is
   * stored is as hostile as possible. Field names are those of the errors, such as `attachments[0].filename`.
   */
  async function ask(line: string, make: (write: (field: string) => string) => object) {
    const nameIn = (field: string): string => nameOf(line.split(" ")[1] as string, field);
    for (let tries = 0; tries < 40; tries += 1) {
      const { status, json } = await workspace.ask(line, { json: make((field) => write(nameIn(field))) });
      if (status < 300) return json;
      const field = json.field ?? /^([\w.[\]]+):/.exec(json.message)?.[1];
      const refused = words.get(nameIn(field ?? ""));
      const lower = refused && levels[levels.indexOf(refused.level) + 1];
      if (status !== 422 || !refused || !lower) throw new Error(`${line}: ${status} ${JSON.stringify(json)}`);
      refused.level = lower;
    }
    throw new Error(`${line} was refused again and again`);
  }

  return { words, write, ask };
}

export type Writing = ReturnType<typeof writing>;

const encoded = (text: string): string => `=?utf-8?B?${Buffer.from(text).toString("base64")}?=`;

/** Makes a stranger's mail with payloads in all parts that are shown. `name` identifies the mail. */
export function strangersMail(
  write: Writing["write"],
  name: string,
  { to, inReplyTo }: { to: string; inReplyTo?: string },
) {
  const part = (what: string) => write(`${name} ${what}`);
  const inBase64 = (text: string) => Buffer.from(text).toString("base64").replace(/.{76}/g, "$&\r\n");
  return [
    `Message-ID: <${randomUUID()}@customer.example>`,
    ...(inReplyTo ? [`In-Reply-To: ${inReplyTo}`, `References: ${inReplyTo}`] : []),
    `From: ${encoded(part("From name"))} <ann@customer.example>`,
    `To: ${encoded(part("To name"))} <${to}>`,
    `Cc: ${encoded(part("Cc name"))} <carol@customer.example>`,
    `Subject: ${encoded(part("Subject"))}`,
    "Date: Mon, 16 Nov 2026 10:00:00 +0000",
    "MIME-Version: 1.0",
    'Content-Type: multipart/mixed; boundary="outer"',
    "",
    "--outer",
    "Content-Type: text/plain; charset=utf-8",
    "Content-Transfer-Encoding: base64",
    "",
    inBase64(`${part("text")}\n\nOn Monday somebody wrote:\n> ${part("quoted text")}\n`),
    "--outer",
    `Content-Type: application/pdf; name="${encoded(part("attachment name"))}"`,
    `Content-Disposition: attachment; filename="${encoded(part("attachment name"))}"`,
    "Content-Transfer-Encoding: base64",
    "",
    inBase64("%PDF-1.4"),
    "--outer--",
    "",
  ].join("\r\n");
}

/** Submits a draft on the newest message of the newest thread, with payloads in all fields. */
export async function submitDraft(
  service: InProcess,
  workspace: Pick<Workspace, "ask">,
  { ask, identityId }: Pick<Writing, "ask"> & { identityId: string },
) {
  await service.caughtUp();
  const [thread] = (await workspace.ask("GET /v1/threads?limit=1")).json.data;
  const messages = (await workspace.ask(`GET /v1/threads/${thread.id}/messages`)).json.data;
  const based = messages.at(-1);
  return ask("POST /v1/drafts", (write) => ({
    thread_id: thread.id,
    identity_id: identityId,
    based_on_message_id: based.id,
    body_text: write("body_text"),
    body_html: `<p>${write("body_html")}</p><a href="https://elsewhere.example/${"x".repeat(10)}">bank.example</a>`,
    subject_override: write("subject_override"),
    cc: ["newcomer@elsewhere.example"],
    bcc: ["hidden@elsewhere.example"],
    rationale: write("rationale"),
    metadata: { note: write("metadata") },
    attachments: [
      {
        filename: write("attachments[0].filename"),
        content_type: "application/pdf",
        content: "TVo=",
      },
    ],
  }));
}

const reviewLinks = ({ text }: Caught): string[] =>
  (text.match(/https?:\/\/\S+\/a\/\S+/g) ?? []).map((link) => new URL(link).pathname);

/** Returns the approval mails to an address, oldest first. */
export const requestsTo = async (service: InProcess, address: string): Promise<Caught[]> =>
  (await approvalMails(service)).filter((mail) => mail.to.includes(address) && reviewLinks(mail).length > 0);

/** Waits for `count` approval mails to an address, and returns the links of the newest. */
export async function linksTo(service: InProcess, address: string, count: number): Promise<string[]> {
  let links: string[] = [];
  await until(async () => {
    const mails = await requestsTo(service, address);
    links = mails.length === 0 ? [] : reviewLinks(mails.at(-1)!);
    return mails.length >= count;
  });
  return links;
}

export type Caught = { id: number; to: string[]; from: string; subject: string; text: string; html: string | null };

/** Returns the service's own mail, oldest first. */
export async function approvalMails(service: InProcess): Promise<Caught[]> {
  const all = (await (await fetch(`${service.url}/outbox.json`)).json()) as Caught[];
  return all.filter(({ from }) => from === service.deps.settings.approvalsFrom);
}

/** Presses a button of a review page. */
export async function press(service: InProcess, path: string, fields: Record<string, string>): Promise<string> {
  const page = await (await fetch(service.url + path)).text();
  const form = page.slice(0, page.indexOf(`value="${fields.decision}"`));
  const nonce = [...form.matchAll(/name="nonce" value="([^"]+)"/g)].at(-1)?.[1];
  expect(nonce, "the page has a form").to.be.a("string");
  const body = new URLSearchParams({ ...fields, nonce: nonce as string });
  return (await fetch(service.url + path, { method: "POST", body })).text();
}
