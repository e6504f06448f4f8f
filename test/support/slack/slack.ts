import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createEmulator } from "emulate";
import { freePort } from "../../../scripts/support/freePort.ts";

/** A request to Slack. `body`: its JSON. */
export type ToSlack = { path: string; token: string | undefined; body: any };

/** Answers in Slack's place; if it returns false, the emulator answers. */
type SlackFault = (request: ToSlack, response: ServerResponse) => boolean | Promise<boolean>;

export type TestSlack = Awaited<ReturnType<typeof startSlack>>;

export const botToken = "xoxb-1-test-bot";

/**
 * Slack on loopback: the emulator (webhooks, chat.postMessage, chat.update, views.open, conversations.history) behind a proxy of our own.
 * The proxy records requests, can answer in the emulator's place, and mocks what the emulator lacks: `response_url`.
 */
export async function startSlack() {
  const emulator = await createEmulator({
    service: "slack",
    port: await freePort(),
    seed: {
      slack: {
        channels: [{ name: "approvals" }, { name: "elsewhere" }],
        bots: [{ name: "countersign" }],
        tokens: [{ token: botToken, scopes: [] }],
      },
    },
  });
  const requests: ToSlack[] = [];
  let fault: SlackFault = () => false;
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString("utf8");
    const authorization = request.headers.authorization;
    const given: ToSlack = { path: request.url!, token: authorization?.replace("Bearer ", ""), body: JSON.parse(text) };
    requests.push(given);
    if (await fault(given, response)) return;
    if (given.path.startsWith("/response/")) return void response.writeHead(200).end("ok");
    const answer = await fetch(emulator.url + given.path, {
      method: "POST",
      headers: { "content-type": "application/json", ...(authorization ? { authorization } : {}) },
      body: text,
    });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
    response.end(await answer.text());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  const call = async (method: string, body: object) => {
    const answer = await fetch(`${emulator.url}/api/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${botToken}` },
      body: JSON.stringify(body),
    });
    return (await answer.json()) as any;
  };
  const { channels } = await call("conversations.list", {});
  const idOf = (name: string): string => channels.find((channel: any) => channel.name === name).id;

  return {
    host,
    url: `http://${host}`,
    /** A webhook into a channel: the emulator takes the channel's name from the message, or uses #general. */
    webhookUrl: `http://${host}/services/T000000001/B000000001/X000000001`,
    requests,
    channel: { general: idOf("general"), approvals: idOf("approvals"), elsewhere: idOf("elsewhere") },
    /** Returns the messages of a channel, oldest first. */
    async history(channel: string): Promise<any[]> {
      const { messages } = await call("conversations.history", { channel, limit: 1000 });
      return messages.reverse();
    },
    /** Makes the trigger id of a press, which can open a form for 3 s. */
    trigger: async (): Promise<string> => (await call("views.generateTriggerId", {})).trigger_id,
    answersWith(next: SlackFault | undefined): void {
      fault = next ?? (() => false);
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await emulator.close();
    },
  };
}

/** Makes the body of a call by Slack, with the signature headers of its v0 scheme. */
export function signedCall(payload: object | string, secret: string, at = new Date()) {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  const body = new URLSearchParams({ payload: text }).toString();
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signature = `v0=${createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex")}`;
  return {
    body,
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "x-slack-request-timestamp": timestamp,
      "x-slack-signature": signature,
    },
  };
}

export const user = { id: "U0ADA", username: "ada", name: "ada", team_id: "T000000001" };

/** Makes Slack's call for a pressed button of a message. */
export const pressOf = (
  message: { ts: string; text?: string; blocks: any[] },
  actionId: string,
  more: Record<string, unknown> = {},
) => {
  const action = buttonsOf(message).find(({ action_id }) => action_id === actionId);
  return {
    type: "block_actions",
    user,
    team: { id: "T000000001", domain: "emulate" },
    api_app_id: "A000000001",
    container: { type: "message", message_ts: message.ts, is_ephemeral: false },
    channel: { id: "C000000001", name: "approvals" },
    message,
    actions: [{ ...action, block_id: "decision", action_ts: "1.1" }],
    ...more,
  };
};

export const buttonsOf = ({ blocks }: { blocks: any[] }): any[] =>
  blocks.filter(({ type }) => type === "actions").flatMap(({ elements }) => elements);

/** Makes Slack's call for the submitted reason form. `view`: as it was opened. */
export const submissionOf = (view: any, reason: string | null, more: Record<string, unknown> = {}) => ({
  type: "view_submission",
  user,
  team: { id: "T000000001", domain: "emulate" },
  view: {
    ...view,
    id: "V1",
    state: { values: { reason: { reason: { type: "plain_text_input", value: reason } } } },
  },
  response_urls: [],
  ...more,
});
