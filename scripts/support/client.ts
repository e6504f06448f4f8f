import { setTimeout as sleep } from "node:timers/promises";
import { createTransport } from "nodemailer";
import { type Dispatcher, request } from "undici";

/** A client of the service as its users see it: REST for the agent, SMTP for the customer, links for the approver. */
export type Client = ReturnType<typeof createClient>;

export type ClientAnswer = { status: number; headers: Headers; body: any };

/** A mail as /outbox.json lists it. */
export type OutboxMail = {
  id: number;
  at: string;
  message_id: string;
  from: string;
  to: string[];
  subject: string;
  text: string;
  html: string | null;
  headers: Record<string, string>;
  raw_url: string;
};

export type CustomerMail = {
  from: string;
  to: string;
  subject: string;
  text: string;
  messageId?: string;
  inReplyTo?: string;
  references?: string[];
};

export function createClient({ url, smtpPort, apiKey }: { url: string; smtpPort: number; apiKey: string }) {
  async function api(line: string, body?: unknown, headers: Record<string, string> = {}): Promise<ClientAnswer> {
    const [method = "GET", path = "/"] = line.split(" ");
    // A tenth of the cost of `fetch`: the service being measured runs on the same machine.
    const response = await request(url + path, {
      method: method as Dispatcher.HttpMethod,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.body.text();
    return { status: response.statusCode, headers: new Headers(headersOf(response)), body: parsed(text) };
  }

  return {
    apiKey,
    api,
    /** Sends a request like `api`, and throws unless it succeeds. */
    async ask(line: string, body?: unknown, headers?: Record<string, string>): Promise<any> {
      const answer = await api(line, body, headers);
      if (answer.status >= 300) throw new Error(`${line}: ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body;
    },

    /** Hands a mail to the receiver over SMTP; resolves with its Message-ID once it was answered 250. */
    async mail(mail: CustomerMail): Promise<string> {
      const transport = createTransport({ host: "127.0.0.1", port: smtpPort, secure: false, ignoreTLS: true });
      const info = await transport.sendMail(mail);
      transport.close();
      return info.messageId;
    },

    /** Every caught mail, oldest first. */
    async outbox(): Promise<OutboxMail[]> {
      return (await fetch(`${url}/outbox.json`)).json() as Promise<OutboxMail[]>;
    },

    /** An identity on the sandbox domain whose approver is reached by mail. */
    async identity(settings: Record<string, unknown> = {}): Promise<any> {
      const domains = await this.ask("GET /v1/domains");
      return this.ask("POST /v1/identities", {
        domain_id: domains.data[0].id,
        local_part: `support${Math.random().toString(36).slice(2, 8)}`,
        display_name: "Support",
        approval_channel: { type: "email", config: { to: "approver@example.com" } },
        ...settings,
      });
    },

    /** Opens an approval link and presses a button, as a person without script would. */
    async press(
      link: string,
      decision: "approve" | "reject",
      reason?: string,
    ): Promise<{ status: number; page: string }> {
      const page = await (await fetch(link)).text();
      const form = page.split("<form").find((part) => part.includes(`value="${decision}"`)) ?? "";
      const nonce = /name="nonce" value="([^"]*)"/.exec(form)?.[1];
      if (nonce === undefined) return { status: 0, page };
      const body = new URLSearchParams({ nonce, decision, ...(reason === undefined ? {} : { reason }) });
      const response = await fetch(link.split("?")[0] as string, { method: "POST", body });
      return { status: response.status, page: await response.text() };
    },
  };
}

const headersOf = ({ headers }: Dispatcher.ResponseData): [string, string][] =>
  Object.entries(headers).flatMap(([name, values]) =>
    [values ?? []].flat().map((value): [string, string] => [name, value]),
  );

const parsed = (text: string): any => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

/** Returns the link for this decision in an approval mail. */
export function approvalLink(mail: Pick<OutboxMail, "text">, decision: "approve" | "reject"): string {
  const link = new RegExp(`https?://\\S+/a/[\\w-]+\\?d=${decision}`).exec(mail.text)?.[0];
  if (!link) throw new Error(`no ${decision} link in: ${mail.text}`);
  return link;
}

/** Polls until there is an answer: every 50 ms, and more slowly over time, down to every 250 ms. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false>,
  timeoutMs = 90_000,
): Promise<T> {
  const began = Date.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    const waitedMs = Date.now() - began;
    if (waitedMs > timeoutMs) throw new Error(`gave up after ${timeoutMs} ms, waiting for: ${what}`);
    await sleep(Math.min(250, 50 + waitedMs / 20));
  }
}
