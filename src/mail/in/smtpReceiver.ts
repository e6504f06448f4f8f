import { constants, randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { Logger } from "pino";
import { SMTPServer } from "smtp-server";
import type { MailRefusal, Metrics } from "#src/platform/metrics/metrics.ts";
import { createMessageReader } from "./messageBody.ts";
import type { Reception } from "./reception.ts";
import { networksOf } from "./smtp/addresses.ts";
import { type BudgetLimits, createBudget } from "./smtp/budget.ts";
import type { Pem } from "./smtp/certificate.ts";
import { createClients } from "./smtp/clients.ts";
import { createConnectionGate } from "./smtp/connectionGate.ts";
import { createReceive } from "./smtp/content.ts";
import { createEnvelopes } from "./smtp/envelope.ts";
import { answerAfterEnd } from "./smtp/halfClosed.ts";
import { type PublicLimits, publicLimits } from "./smtp/limits.ts";
import { listening } from "./smtp/listen.ts";
import { acceptQuotedAddresses } from "./smtp/quotedAddresses.ts";
import { createSessionPeers } from "./smtp/sessionPeers.ts";
import { SmtpReply } from "./smtp/smtpReply.ts";
import { storableLine } from "./storable.ts";

export type SmtpReceiverOptions = {
  reception: Reception;
  /** 0 chooses a free port. */
  port: number;
  host: string;
  logger: Logger;
  /**
   * Addresses and networks of our own relays (default: none), which are exempt from limits per address. Mail that they bring without
   * naming its client has an unknown origin.
   */
  relays?: readonly string[];
  /** Relays first name the client by the PROXY protocol. */
  proxied?: boolean;
  /** Relays may name the client by XCLIENT. */
  xclient?: boolean;
  /** Maximum mail from one address to one identity (default: 600 messages and 500 MB in 10 minutes). */
  budget?: Partial<BudgetLimits>;
  /** Limits per address; default: those of `smtp/limits.ts`. */
  limits?: Partial<PublicLimits>;
  /** True if mail is refused because the disk is full; called for each mail. */
  isDiskFull?: () => boolean;
  /** True if a workspace accepts no mail because it holds too much unanswered mail. */
  isFull?: (workspaceId: string) => boolean;
  metrics?: Pick<Metrics, "mailRefused">;
  /** Host name in the greeting (default: the machine's). */
  name?: string;
  /** Largest mail in bytes; a larger one is refused with 552 (default 30 MB). */
  maxBytes?: number;
  /**
   * Maximum number of bytes of mail being received at once, over all connections; beyond this limit senders are asked to retry (default
   * 256 MB).
   */
  maxBufferedBytes?: number;
  /** Maximum number of concurrent connections of unauthenticated clients, and separately of relays (default 1,000). */
  maxConnections?: number;
  maxRecipients?: number;
  /** Milliseconds before a silent client is disconnected (default 60,000). */
  idleMs?: number;
  /** Maximum time in milliseconds for looking up a recipient; after that the sender is asked to retry (default 5,000). */
  resolveMs?: number;
  /** Maximum time in milliseconds that `close` waits for mail under way (default 10,000). */
  closeMs?: number;
  /** Enables STARTTLS; client certificates are not requested. */
  tls?: Pem;
};

export type SmtpReceiver = {
  port: number;
  /** Reason why no mail is accepted; undefined if mail is accepted. */
  trouble(): string | undefined;
  /** Replaces `tls` for connections that start TLS from now on. */
  useCertificate(pem: Pem): void;
  /** Stops accepting connections and mail, stores the mail already complete, then ends all sessions. */
  close(): Promise<void>;
};

/**
 * Receives mail from any server: no authentication, own recipients only. Replies 250 once every recipient's copy is durable; 550 for an
 * unknown recipient; 552 for too large a mail; 421, 451 or 452 if a retry may help. Throws StartError if the port cannot be opened.
 */
export async function createSmtpReceiver(options: SmtpReceiverOptions): Promise<SmtpReceiver> {
  const { reception, logger, maxBytes = 30 * 1024 * 1024, maxBufferedBytes = 256 * 1024 * 1024 } = options;
  const limits = { ...publicLimits, ...options.limits };
  const relays = networksOf(options.relays ?? []);
  const onRefused = (reason: MailRefusal) => options.metrics?.mailRefused(reason);
  const clients = createClients(relays);
  const guests = createSessionPeers({
    limits,
    onRefused,
    showOut: (id, sentence) => connectionOf(id)?.send(421, sentence),
  });
  const envelopes = createEnvelopes({
    ...{ reception, onRefused, patienceMs: options.resolveMs ?? 5_000, isFull: options.isFull ?? (() => false) },
    budget: createBudget({ ...usualBudget, ...options.budget }, { now: () => Date.now(), onOver: tellOverBudget }),
  });
  const receive = createReceive({
    ...{ envelopes, clients, guests, requireDisk, onRefused, logger },
    reader: createMessageReader({ maxBytes, maxBufferedBytes, maxBytesOfHolder: limits.bytesInFlight }),
    pace: limits,
    accept: (transaction) => reception.accept(transaction),
    onFlood(id) {
      connectionOf(id)?.send(552, "Message too large", "MESSAGE_TOO_BIG");
      connectionOf(id)?.send(421, "Goodbye");
    },
  });
  const disabledCommands = options.tls ? ["AUTH"] : ["AUTH", "STARTTLS"];

  const server = new SMTPServer({
    ...(options.name ? { name: options.name } : {}),
    ...(options.tls && overTls(options.tls)),
    disabledCommands,
    disableReverseLookup: true,
    useXClient: options.xclient ?? false,
    hideENHANCEDSTATUSCODES: false,
    hideDSN: true,
    hideREQUIRETLS: true,
    // Japanese phones write two dots in a row, and some sending hosts have underscores.
    lenientAddressParsing: true,
    size: maxBytes,
    rejectOversized: true,
    maxRecipients: options.maxRecipients ?? 100,
    socketTimeout: options.idleMs ?? 60_000,
    closeTimeout: options.closeMs ?? 10_000,
    logger: false,
    onConnect: (session, reply) => {
      if (!guests.get(session.id)?.mayNameClients) session.disabledCommands = [...disabledCommands, "XCLIENT"];
      reply();
    },
    onSecure: (socket, { id }, reply) => {
      answerAfterEnd(socket, () => connectionOf(id)?.close());
      reply();
    },
    onMailFrom: ({ address }, _session, reply) => {
      try {
        if (!isAddress(address)) throw new SmtpReply(501, "Bad sender address");
        requireDisk();
        reply();
      } catch (error) {
        reply(notNow(error));
      }
    },
    onRcptTo: (recipient, session, reply) => {
      const { rcptTo: taken } = session.envelope;
      envelopes.add(recipient, { taken, sender: clients.senderOf(session) }).then(
        () => reply(),
        (error) => {
          const answer = notNow(error);
          reply(answer);
          if (answer.responseCode === 550) guests.namedNobody(session.id);
        },
      );
    },
    // After STARTTLS the library has removed all listeners of the connection, so its end is reported only here.
    onClose: ({ id }) => guests.leave(id),
    onData: (stream, session, reply) => {
      guests
        .whileReceiving(session.id, () => receive(stream, session))
        .then(
          () => reply(null, "Stored"),
          (error) => reply(notNow(error)),
        );
    },
  });

  function requireDisk(): void {
    if (!options.isDiskFull?.()) return;
    onRefused("disk");
    throw new SmtpReply(452, "Insufficient storage at the moment, please try again later");
  }

  function notNow(error: unknown): SmtpReply {
    if (error instanceof SmtpReply) return error;
    logger.error({ err: error }, "cannot accept a mail; its sender will retry");
    return new SmtpReply(451, "Cannot be stored at the moment, please try again later");
  }

  function tellOverBudget(remote: string, identity: string): void {
    logger.warn({ remote, identity }, "an address sends an identity more mail than SMTP_IN_BUDGET allows");
  }

  function connectionOf(id: string) {
    return [...server.connections].find((connection) => connection.id === id);
  }

  const gate = createConnectionGate({
    ...{ relays, perAddress: limits.connections, inAll: options.maxConnections ?? 1_000, onRefused },
    proxied: options.proxied ?? false,
    onPastProxy: atMostEvery(60_000, (remote: string) =>
      logger.warn({ remote }, "a connection for mail bypassed the proxy, from an address not in SMTP_IN_RELAYS"),
    ),
    admit(socket, visitor, leave) {
      const id = randomUUID();
      guests.enter(id, visitor, () => {
        leave();
        sockets.delete(socket);
      });
      socket.once("close", () => guests.leave(id));
      answerAfterEnd(socket, () => connectionOf(id)?.close());
      server.connect(socket, { id, remoteAddress: visitor.address });
      acceptQuotedAddresses(connectionOf(id)!);
    },
  });

  server.on("error", (error) => logger.warn({ err: error }, "SMTP connection failed"));
  const sockets = new Set<Socket>();
  // Replaces the library's own connection handler, which knows neither networks nor limits per address.
  server.server.removeAllListeners("connection");
  server.server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    gate.knock(socket);
  });
  const port = await listening(server.server, options);

  return {
    port,
    trouble: () => (server.server.listening ? undefined : "the mail receiver is not listening"),
    useCertificate: (pem) => server.updateSecureContext(overTls(pem)),
    async close() {
      const closed = new Promise<void>((done) => server.close(done));
      gate.close();
      guests.close();
      await closed;
      for (const socket of sockets) socket.destroy();
    },
  };
}

const usualBudget: BudgetLimits = { messages: 600, bytes: 500_000_000, windowMs: 600_000 };

/** Forbids renegotiation: a client may not repeat the costly handshake on an open connection. */
const overTls = (pem: Pem) => ({
  ...pem,
  minVersion: "TLSv1.2" as const,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
});

const isAddress = (address: string): boolean => storableLine(address, 320) === address;

/** Calls the function at once, and then at most once per interval. */
function atMostEvery<Argument>(ms: number, call: (argument: Argument) => void): (argument: Argument) => void {
  let quietUntil = 0;
  return (argument) => {
    if (Date.now() < quietUntil) return;
    quietUntil = Date.now() + ms;
    call(argument);
  };
}
