import { createHash } from "node:crypto";
import { expect } from "chai";
import type { CaughtMail } from "#src/mail/out/outbox.ts";
import { approvalLink, createClient } from "../../../scripts/support/client.ts";
import type { Ask, HttpAnswer } from "../asking.ts";
import { type InProcess, until } from "../inProcess.ts";

/** The fields of POST /v1/drafts besides the three ids; the body is "On its way." if there is none. */
export type StoryContent = object;
export type StoryDraft = ReturnType<typeof draftOf>;

/** A draft, and what the agent can do with it. `json`: the draft as it was when it was submitted. */
export function draftOf(service: InProcess, ownAsk: Ask, json: any) {
  const id = json.id as string;

  /** Sends a request about this draft, such as "POST approve", "GET content?version=1" or "PATCH"; returns any answer. */
  const ask = (line: string, options?: Parameters<Ask>[1]): Promise<HttpAnswer> => {
    const [method, path = ""] = line.split(" ");
    return ownAsk(`${method} /v1/drafts/${id}${path === "" || path.startsWith("?") ? path : `/${path}`}`, options);
  };
  /** Sends a request that has to succeed; returns its JSON. */
  const done = async (line: string, body?: object): Promise<any> => {
    const answer = await ask(line, body && { json: body });
    expect(answer.status, `${line}: ${answer.text}`).to.be.within(200, 299);
    return answer.json;
  };
  const read = () => done("GET");

  /** Waits until the draft has this status, or until the condition holds; returns it. */
  async function becomes(wanted: string | ((draft: any) => boolean)): Promise<any> {
    const isWanted = typeof wanted === "string" ? ({ status }: any) => status === wanted : wanted;
    let last: any;
    const isSo = async (): Promise<boolean> => {
      last = await read();
      return isWanted(last);
    };
    await until(isSo).catch((error) => {
      throw new Error(`the draft is not ${wanted} but ${last?.status}`, { cause: error });
    });
    return last;
  }

  return {
    id,
    json,
    threadId: json.thread_id as string,
    ask,
    read,
    becomes,
    approve: () => done("POST approve"),
    reject: (reason?: string) => done("POST reject", reason === undefined ? {} : { reason }),
    /** Makes a new version, with these fields changed. */
    edit: (changes: StoryContent) => done("PATCH", changes),
    send: () => done("POST send"),
    /** Sends the draft, and waits until it is sent. */
    async sendNow() {
      await done("POST send");
      return becomes("sent");
    },
    content: () => done("GET content"),
    /** Returns the events of its history, oldest first. */
    history: async (): Promise<any[]> => (await done("GET history?limit=100")).data,
    /** Waits until its approvers were asked. */
    asked: () => becomes(({ notification_status }) => notification_status.state === "sent"),
    /** Waits for the mail that asks an approver, at this address if one is given, about this draft alone. */
    approvalMail: (to?: string) => approvalMail(service, id, to),
  };
}

/** The mail that asks an approver about one draft, with its links. */
async function approvalMail(service: InProcess, draftId: string, to?: string) {
  let mail: CaughtMail | undefined;
  await until(async () => {
    const events = await service.deps.store.read(`draft-${draftId}`);
    const hashes = events.flatMap(({ data }) =>
      ((data.tokens ?? []) as { sha256: string }[]).map((each) => each.sha256),
    );
    mail = (await service.outbox.newest(100)).find(({ text, envelope }) => {
      const token = tokenIn(text);
      const hash = token && createHash("sha256").update(token).digest("hex");
      return hash && hashes.includes(hash) && (to === undefined || envelope.to.includes(to));
    });
    return mail !== undefined;
  });
  const found = mail as CaughtMail;
  const link = (decision: "approve" | "reject" = "approve") => approvalLink(found, decision);
  return {
    ...found,
    link,
    /** The token in the link. */
    token: (decision: "approve" | "reject" = "approve") => new URL(link(decision)).pathname.slice("/a/".length),
    /** Opens the link and presses its button, as a person does in a browser without script; the time to undo passes. */
    async press(decision: "approve" | "reject" = "approve", reason?: string) {
      const { pathname, search } = new URL(link(decision));
      const browser = createClient({ url: service.url, smtpPort: 0, apiKey: "" });
      const pressed = await browser.press(service.url + pathname + search, decision, reason);
      // The time in which an approval can be undone passes at once.
      service.clock.advance(10_000);
      return pressed;
    },
  };
}

const tokenIn = (text: string): string | undefined => /\/a\/([\w-]+)/.exec(text)?.[1];
