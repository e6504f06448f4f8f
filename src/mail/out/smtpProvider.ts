import SMTPConnection from "nodemailer/lib/smtp-connection";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import {
  CredentialsRefused,
  type MailProvider,
  NotConnected,
  ProviderBusy,
  type ReadyConnection,
} from "#src/mail/mailProvider.ts";
import {
  createConnectionRoom,
  type OpenedConnection,
  type RelayConnectionLimits,
  usualRoom,
} from "./connectionRoom.ts";
import { type ConnectError, relayFault } from "./relayFault.ts";
import { createSmtpAccessToken, type SmtpAccessToken } from "./smtpAccessToken.ts";
import { handOverBySmtp } from "./smtpHandOver.ts";
import { readSmtpUrl, type SmtpRelaySettings } from "./smtpUrl/smtpUrl.ts";
import { authPlain, createSecretHider, type HideSecrets, withoutSecrets } from "./withoutSecrets.ts";

/** Time limits of each stage, in milliseconds. */
export type SmtpTimeouts = {
  /** From the name's resolution to a connection that is greeted, encrypted and authenticated. */
  readyMs: number;
  /** MAIL, RCPT and DATA together, up to the server's go-ahead; per recipient, because a relay may look each one up elsewhere. */
  envelopeMs: number;
  /** Maximum number of milliseconds in which the relay accepts no byte of the content. */
  contentMs: number;
  /** From the final dot to the answer. Long (RFC 5321, 4.5.3.2.6): giving up early turns a good outcome into an unknown one. */
  answerMs: number;
};

export const usualTimeouts: SmtpTimeouts = {
  readyMs: 30_000,
  envelopeMs: 60_000,
  contentMs: 180_000,
  answerMs: 600_000,
};

/**
 * Sends mail to a relay by SMTP, as SMTP_URL describes it (smtpUrl/smtpUrl.ts); throws if that is invalid. One connection per mail, and
 * as many at once as `room` allows. A mail is sent to all of its recipients or, if the relay refuses one of them, to none.
 */
export function createSmtpProvider(
  url: string,
  { room: roomLimits, ...timeouts }: Partial<SmtpTimeouts> & { room?: Partial<RelayConnectionLimits> } = {},
): MailProvider {
  const limits = { ...usualTimeouts, ...timeouts };
  const relay = readSmtpUrl(url);
  const accessToken = relay.oauth && createSmtpAccessToken(relay.oauth);
  const sockets = new Set<SMTPConnection>();
  const room = createConnectionRoom({ ...usualRoom, ...roomLimits });

  async function open(): Promise<OpenedConnection<ReadyConnection>> {
    const settings = readAnew(relay);
    await accessToken?.ready();
    const signIn = accessToken ?? settings.password;
    // A token may be replaced during authentication.
    const hide: HideSecrets = (words) => createSecretHider(secretsOf(signIn))(words);
    const connection = new SMTPConnection({
      ...settings.connection,
      // Ends before our own limit, and says what did not come.
      connectionTimeout: 0.9 * limits.readyMs,
      greetingTimeout: 0.9 * limits.readyMs,
      // A stage's own limit always expires first.
      socketTimeout: 1_000 + Math.max(...Object.values(limits)),
      socketCloseTimeout: 0,
    });
    sockets.add(connection);
    const closed = new Promise<void>((resolve) =>
      connection.once("end", () => {
        sockets.delete(connection);
        resolve();
      }),
    );
    // Without a listener, an idle connection that is lost would end the process; a mail under way is informed by its own callback.
    connection.on("error", () => {});
    await ready(connection, signIn, limits.readyMs).catch((error) => {
      connection.close();
      throw unavailable(error, hide);
    });
    return { connection: withoutSecrets(readyConnection(connection, limits), hide), closed };
  }

  return {
    name: "smtp",
    connect: ({ comesBack } = { comesBack: false }) => room.take(open, { comesBack }),
    whenRoom: room.whenRoom,
    letNobodyIn: room.close,
    async close() {
      // Close the room first: each closing socket would otherwise admit the next caller.
      room.close();
      for (const connection of sockets) connection.close();
    },
  };
}

/**
 * Reads certificate and password files again, so they can be replaced without a restart; an unusable file keeps mail back and is
 * reported.
 */
function readAnew(relay: SmtpRelaySettings) {
  try {
    return { connection: relay.connection(), password: relay.password() };
  } catch (error) {
    throw new NotConnected((error as Error).message, { kind: "file", lasts: true });
  }
}

type SignIn = { user: string; pass: string } | SmtpAccessToken;

/** The secrets that the relay was given. */
function secretsOf(signIn: SignIn | undefined): string[] {
  if (!signIn) return [];
  return "forget" in signIn ? signIn.secrets() : [signIn.pass, authPlain(signIn.user, signIn.pass)];
}

/** Returns only the codes of the reply: a relay may quote the credentials in its text. */
function signInFailure({ response, message }: ConnectError): string {
  const codes = /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3}(?=\s|$))?/.exec(response ?? "")?.[0];
  return codes ? `it refused the sign-in (${codes.replace("-", " ")}): see user and password in SMTP_URL` : message;
}

/** Resolves once mail may be handed over; rejects with nodemailer's error, or Unavailable. */
function ready(connection: SMTPConnection, signIn: SignIn | undefined, limitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => fail(new Error(`not ready within ${limitMs} ms`)), limitMs);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    const fail = (error: Error) => {
      clearTimeout(timer);
      reject(error);
    };
    const signedIn = (error: ConnectError | null) => {
      if (!error) return done();
      // 4xx replies such as 454 are the relay's trouble; 5xx such as 535 are our credentials'.
      const isRefused = Number(error.responseCode) >= 500;
      if (isRefused && signIn && "forget" in signIn) signIn.forget();
      if (error instanceof Unavailable) return fail(error);
      const What = isRefused ? CredentialsRefused : error.responseCode === 421 ? ProviderBusy : Unavailable;
      fail(new What(`SMTP relay: ${signInFailure(error)}`));
    };
    connection.once("error", (error) => fail(error));
    connection.once("end", () => fail(new Error("connection closed")));
    connection.connect((error) => {
      if (error) fail(error);
      else if (!signIn) done();
      else connection.login("forget" in signIn ? { oauth2: signIn.xoauth2 } : { credentials: signIn }, signedIn);
    });
  });
}

/** 421 means that the relay is up but closes the connection, usually because it has one too many. */
function unavailable(error: ConnectError, hide: HideSecrets): Unavailable {
  if (error instanceof Unavailable) {
    error.message = hide(error.message);
    return error;
  }
  const fault = relayFault(error, hide);
  return error.responseCode === 421 ? new ProviderBusy(fault.message) : fault;
}

function readyConnection(connection: SMTPConnection, limits: SmtpTimeouts): ReadyConnection {
  let used = false;
  return {
    async handOver(mail, mayWrite) {
      if (used) return { kind: "not_handed_over", message: "this connection has already been used" };
      used = true;
      const outcome = await handOverBySmtp(connection, { mail, mayWrite }, limits);
      if (outcome.kind === "accepted") sayGoodbye(connection);
      else connection.close();
      return outcome;
    },
    discard() {
      used = true;
      sayGoodbye(connection);
    },
  };
}

const goodbyeMs = 2_000;

function sayGoodbye(connection: SMTPConnection): void {
  connection.quit();
  setTimeout(() => connection.close(), goodbyeMs).unref();
}
