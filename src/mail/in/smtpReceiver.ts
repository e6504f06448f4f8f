import type { AddressInfo, Socket } from "node:net";
import type { Logger } from "pino";
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from "smtp-server";
import { StartError } from "#src/startError.ts";
import { createMessageReader } from "./messageBody.ts";
import type { MailTransaction, Reception } from "./reception.ts";
import { storableLine } from "./storable.ts";

export type SmtpReceiverOptions = {
  reception: Reception;
  /** 0 takes a free one. */
  port: number;
  host: string;
  logger: Logger;
  /** Every connection names its sender by the PROXY protocol first. */
  proxied?: boolean;
  /** The name in the greeting (default: the machine's). */
  name?: string;
  /** A mail above this is refused with 552 (default 30 MB). */
  maxBytes?: number;
  /** Mail being received at one moment, over all connections; above it senders are asked to try again (default 256 MB). */
  maxBufferedBytes?: number;
  maxConnections?: number;
  maxRecipients?: number;
  /** Milliseconds a silent sender is waited for (default 60,000). */
  idleMs?: number;
  /** Milliseconds `close` waits for what is under way (default 10,000). */
  closeMs?: number;
  /** PEM; with them STARTTLS is offered. */
  tls?: { key: string; cert: string };
};

export type SmtpReceiver = {
  port: number;
  /** Why no mail is accepted; undefined if it is. */
  trouble(): string | undefined;
  /** Takes no more connections or mail, finishes the mail already complete, then lets everybody go. */
  close(): Promise<void>;
};

/**
 * Takes mail from any server that sends it: no authentication, our own recipients only. A sender is answered 250 once every recipient's
 * copy is durable; 550 of a recipient we do not have; 552 of too large a mail; 451 of anything that a later try may cure.
 * Throws StartError if the port cannot be had.
 */
export async function createSmtpReceiver(options: SmtpReceiverOptions): Promise<SmtpReceiver> {
  const { reception, logger, maxBytes = 30 * 1024 * 1024, maxBufferedBytes = 256 * 1024 * 1024 } = options;
  const { idleMs = 60_000, closeMs = 10_000, maxConnections = 200, maxRecipients = 100 } = options;
  const reader = createMessageReader({ maxBytes, maxBufferedBytes });
  const receiving = new Set<SMTPServerSession>();
  let closing = false;

  const server = new SMTPServer({
    ...(options.name ? { name: options.name } : {}),
    ...(options.tls ?? {}),
    disabledCommands: options.tls ? ["AUTH"] : ["AUTH", "STARTTLS"],
    disableReverseLookup: true,
    useProxy: options.proxied ?? false,
    hideENHANCEDSTATUSCODES: false,
    hideDSN: true,
    hideREQUIRETLS: true,
    size: maxBytes,
    rejectOversized: true,
    maxClients: maxConnections,
    maxRecipients,
    socketTimeout: idleMs,
    closeTimeout: closeMs,
    logger: false,
    onMailFrom: ({ address }, _session, reply) =>
      reply(isAddress(address) ? null : new Reply(501, "Bad sender address")),
    onRcptTo: ({ address }, _session, reply) => {
      resolve(address).then(() => reply(), reply);
    },
    onData: (stream, session, reply) => {
      receiving.add(session);
      receive(stream, session)
        .then(() => reply(null, "Stored"), reply)
        .finally(() => {
          receiving.delete(session);
          if (closing) setImmediate(() => dismiss(session));
        });
    },
  });

  async function resolve(address: string) {
    const recipient = await reception.resolve(address).catch((error) => {
      throw notNow(error);
    });
    if (!recipient) throw new Reply(550, "No such recipient here");
    return recipient;
  }

  async function receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> {
    const body = await reader.read(stream, () => dismiss(session, 552));
    try {
      // smtp-server answers 552 itself (rejectOversized), whatever it is told here.
      if ("refused" in body) throw new Reply(451, "Too much mail at once, please try again later");
      const transaction = await resolveAgain(session, body.raw);
      await reception.accept(transaction);
      const { recipients, remote } = transaction;
      logger.info({ remote: remote.ip, bytes: body.raw.length, recipients: recipients.length }, "mail received");
    } catch (error) {
      throw notNow(error);
    } finally {
      reader.release(body);
    }
  }

  /** A recipient may be gone since RCPT. One reply speaks for all: with others left, the sender tries again and learns who it was. */
  async function resolveAgain(session: SMTPServerSession, raw: Buffer): Promise<MailTransaction> {
    const { mailFrom, rcptTo } = session.envelope;
    const from = mailFrom ? mailFrom.address : "";
    const remote = { ip: session.remoteAddress, helo: storableLine(session.hostNameAppearsAs || "", 255) };
    const found = await Promise.all(
      rcptTo.map(async ({ address }) => ({ address, recipient: await reception.resolve(address) })),
    );
    const recipients = found.flatMap(({ address, recipient }) => (recipient ? [{ recipient, address }] : []));
    if (recipients.length === 0) throw new Reply(550, "No such recipient here");
    if (recipients.length < found.length) throw new Reply(451, "A recipient is gone, please try again");
    return { recipients, from, raw, remote };
  }

  function notNow(error: unknown): Reply {
    if (error instanceof Reply) return error;
    logger.error({ err: error }, "cannot accept a mail; its sender will retry");
    return new Reply(451, "Cannot be stored at the moment, please try again later");
  }

  function dismiss(session: SMTPServerSession, code = 421): void {
    const connection = [...server.connections].find((each) => each.session === session);
    if (code === 552) connection?.send(552, "Message too large", "MESSAGE_TOO_BIG");
    connection?.send(421, "Goodbye");
  }

  server.on("error", (error) => logger.warn({ err: error }, "SMTP connection failed"));
  const sockets = new Set<Socket>();
  server.server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const port = await listen(server, options);

  return {
    port,
    trouble: () => (server.server.listening ? undefined : "the mail receiver is not listening"),
    async close() {
      closing = true;
      const closed = new Promise<void>((done) => server.close(done));
      for (const { session } of [...server.connections]) if (!receiving.has(session)) dismiss(session);
      await closed;
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** An answer to the sender; smtp-server adds the enhanced code: 5.1.1 to 550, 4.3.0 to 451. */
class Reply extends Error {
  readonly responseCode: number;
  constructor(responseCode: number, message: string) {
    super(message);
    this.responseCode = responseCode;
  }
}

const isAddress = (address: string): boolean => storableLine(address, 320) === address;

async function listen(server: SMTPServer, { port, host }: SmtpReceiverOptions): Promise<number> {
  const listener = server.listen(port, host);
  await new Promise<void>((resolve, reject) => {
    listener.once("listening", resolve);
    listener.once("error", (error: NodeJS.ErrnoException) => reject(new StartError(cannotListen(error, host, port))));
  });
  return (listener.address() as AddressInfo).port;
}

function cannotListen(error: NodeJS.ErrnoException, host: string, port: number): string {
  const where = `The mail receiver cannot listen on ${host}:${port}`;
  if (error.code === "EADDRINUSE")
    return `${where}: the port is in use. Stop the program that uses it, or set SMTP_IN_PORT to another port.`;
  if (error.code === "EACCES")
    return `${where}: this user may not use that port. Set SMTP_IN_PORT to a port above 1023.`;
  return `${where}: ${error.message}.`;
}
