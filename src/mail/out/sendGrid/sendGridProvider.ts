import type { Socket } from "node:net";
import sendGrid from "@sendgrid/mail";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import {
  CredentialsRefused,
  type HandOverOutcome,
  type MailProvider,
  type MayStillSend,
  type OutgoingMail,
  type ReadyConnection,
} from "#src/mail/mailProvider.ts";
import { createConnectionRoom, type RelayConnectionLimits, usualRoom } from "../connectionRoom.ts";
import { createSecretHider, withoutSecrets } from "../withoutSecrets.ts";
import { type AskEmailLog, findInLog } from "./emailLog.ts";
import { mailData } from "./mailData.ts";
import { outcomeOf } from "./outcomes.ts";
import { exchange, isUsable, openSocket, type WireTimeouts } from "./wire.ts";

export type SendGridOptions = Partial<WireTimeouts> & {
  apiKey: string;
  /** API address: https://api.sendgrid.com, or https://api.eu.sendgrid.com for an EU account. */
  baseUrl: string;
  room?: Partial<RelayConnectionLimits>;
  /** Maximum time in milliseconds for a whole look-up, or for a check of the key. */
  askMs?: number;
  now?: () => Date;
};

/** The library with one client per mail: its own types show only a shared one. */
type Library = typeof sendGrid & { client: { setDefaultRequest(settings: object): void } };
const { MailService: Library } = sendGrid as unknown as { MailService: new () => Library };

const usual: WireTimeouts = { readyMs: 30_000, idleMs: 60_000, answerMs: 120_000 };

/**
 * Sends mail by SendGrid's Web API (v3). Its library builds the request from the mail; the connection is ours, because the library cannot
 * tell whether anything of a request had been written when it failed. One connection per mail, opened before anything is checked.
 */
export function createSendGridProvider(options: SendGridOptions): MailProvider {
  const { apiKey, baseUrl, room: roomLimits, askMs = 15_000, now = () => new Date(), ...timeouts } = options;
  const limits = { ...usual, ...timeouts };
  const base = new URL(baseUrl);
  const sockets = new Set<Socket>();
  const room = createConnectionRoom({ ...usualRoom, ...roomLimits });
  const headers = { authorization: `Bearer ${apiKey}`, accept: "application/json", "content-type": "application/json" };
  const hide = createSecretHider([apiKey]);
  let closed = false;

  async function open(readyMs = limits.readyMs): Promise<{ socket: Socket; closed: Promise<void> }> {
    const socket = await openSocket(base, { readyMs });
    sockets.add(socket);
    const ended = new Promise<void>((resolve) =>
      socket.once("close", () => {
        sockets.delete(socket);
        resolve();
      }),
    );
    if (closed) socket.destroy();
    return { socket, closed: ended };
  }

  async function connection() {
    const { socket, closed: ended } = await open();
    return { connection: withoutSecrets(readyConnection(socket), hide), closed: ended };
  }

  function readyConnection(socket: Socket): ReadyConnection {
    let used = false;
    return {
      async handOver(mail, mayWrite) {
        if (used) return { kind: "not_handed_over", message: "this connection has already been used" };
        used = true;
        const outcome = await handOver(socket, mail, mayWrite).catch((): HandOverOutcome => unwritable);
        socket.destroy();
        return outcome;
      },
      discard() {
        used = true;
        socket.destroy();
      },
    };
  }

  /** The library builds the request and passes it to this function, which alone knows its result. */
  async function handOver(socket: Socket, mail: OutgoingMail, mayWrite: MayStillSend): Promise<HandOverOutcome> {
    let outcome: HandOverOutcome | undefined;
    const library = new Library();
    library.client.setDefaultRequest({
      baseUrl,
      adapter: async (request: { url: string; data: string }) => {
        outcome = await give(socket, { path: request.url, body: Buffer.from(request.data) }, mayWrite);
        return { status: 202, statusText: "", headers: {}, data: undefined, config: request };
      },
    });
    // The library would send the mail's headers as those of the request too: everything it passes except path and body is ignored.
    await library.send(mailData(mail)).catch(() => undefined);
    return outcome ?? unwritable;
  }

  /** Last step, after all slow ones: checks that the mail may still be sent, and writes it immediately. */
  async function give(
    socket: Socket,
    { path, body }: { path: string; body: Buffer },
    mayWrite: MayStillSend,
  ): Promise<HandOverOutcome> {
    const may = await Promise.resolve(mayWrite()).catch(() => false);
    if (!may) return { kind: "not_handed_over", message: "the send was withdrawn before the request was written" };
    if (!isUsable(socket))
      return { kind: "not_handed_over", message: "SendGrid closed the connection before it was used" };
    try {
      const call = { method: "POST", url: new URL(path, base), headers, body } as const;
      return outcomeOf(await exchange(socket, call, limits), now());
    } catch (error) {
      return { kind: "unknown", message: `SendGrid: ${(error as Error).message}` };
    }
  }

  const ask: AskEmailLog = async ({ method, path, body }) => {
    try {
      const { socket } = await open(askMs);
      const call = {
        method,
        url: new URL(path, base),
        headers,
        ...(body && { body: Buffer.from(JSON.stringify(body)) }),
      };
      return await exchange(socket, call, { idleMs: askMs, answerMs: askMs });
    } catch {
      return undefined;
    }
  };

  return {
    name: "sendgrid",
    connect: ({ comesBack } = { comesBack: false }) => room.take(connection, { comesBack }),
    whenRoom: room.whenRoom,
    letNobodyIn: room.close,
    lookUp: (attempt) => findInLog(ask, attempt),
    async checkCredentials() {
      const answer = await ask({ method: "GET", path: "/v3/scopes" });
      if (answer?.status === 200) return;
      if (answer?.status === 401 || answer?.status === 403)
        throw new CredentialsRefused(`SendGrid rejects the service's API key (${answer.status})`);
      throw new Unavailable("SendGrid did not confirm that the API key is valid");
    },
    async close() {
      closed = true;
      room.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const unwritable: HandOverOutcome = { kind: "not_handed_over", message: "the mail could not be written as a request" };
