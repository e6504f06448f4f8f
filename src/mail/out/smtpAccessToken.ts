import XOAuth2 from "nodemailer/lib/xoauth2";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { CredentialsRefused, NotConnected } from "#src/mail/mailProvider.ts";
import { beginningOf } from "#src/platform/publicWeb/beginningOf.ts";
import type { SmtpOAuth } from "./smtpUrl/smtpUrl.ts";

/** Maximum time in milliseconds that the endpoint may take, and maximum number of bytes of its answer. */
const answerMs = 10_000;
const maxAnswerBytes = 64 * 1024;
/** A token is renewed this long before it expires: a connection is opened with it, and authenticates some seconds later. */
const marginMs = 60_000;

/** The access token of a relay: shared by all connections, requested when there is none or it has expired. */
export type SmtpAccessToken = {
  /** Token source for nodemailer, which requests a new token once if the relay refuses the current one. */
  readonly xoauth2: XOAuth2;
  /** Ensures that there is a token. Throws CredentialsRefused or Unavailable, neither with a secret in it. */
  ready(): Promise<void>;
  /** The current token, plain and in the form of XOAUTH2. */
  secrets(): string[];
  /** Discards a token that the relay refused: the next connection requests another. */
  forget(): void;
};

/** Uses OAuth2's refresh token grant (RFC 6749, section 6), for XOAUTH2. */
export function createSmtpAccessToken(oauth: SmtpOAuth): SmtpAccessToken {
  /**
   * An endpoint may replace the refresh token with each answer (RFC 6749, section 6): the newest counts until the operator configures
   * another.
   */
  let replaced: { given: string; by: string } | undefined;

  async function buy(): Promise<{ accessToken: string; expires: number }> {
    const { clientSecret, refreshToken } = secretsOf(oauth);
    const answer = await ask(oauth.accessUrl, {
      grant_type: "refresh_token",
      client_id: oauth.clientId,
      client_secret: clientSecret,
      refresh_token: replaced?.given === refreshToken ? replaced.by : refreshToken,
      ...(oauth.scope !== undefined && { scope: oauth.scope }),
    });
    if (typeof answer.refresh_token === "string") replaced = { given: refreshToken, by: answer.refresh_token };
    if (typeof answer.access_token !== "string" || !/^[\x21-\x7e]+$/.test(answer.access_token))
      throw new Unavailable("SMTP relay: the token endpoint answered without an access token");
    const lastsMs = Number(answer.expires_in) * 1000;
    // A token without an expiry is used until the relay refuses it.
    const expires = lastsMs > 0 ? Date.now() + lastsMs - Math.min(marginMs, lastsMs / 2) : 0;
    return { accessToken: answer.access_token, expires };
  }

  const xoauth2 = new XOAuth2({
    user: oauth.user,
    provisionCallback: (_user, _renew, done) => {
      buy().then(
        ({ accessToken, expires }) => done(null, accessToken, expires),
        (error) => done(error, "", 0),
      );
    },
  });

  return {
    xoauth2,
    ready: () =>
      new Promise((resolve, reject) => xoauth2.getToken(false, (error) => (error ? reject(error) : resolve()))),
    secrets() {
      const { accessToken } = xoauth2;
      return accessToken ? [accessToken, xoauth2.buildXOAuth2Token(accessToken)] : [];
    },
    forget: () => {
      xoauth2.accessToken = false;
    },
  };
}

function secretsOf(oauth: SmtpOAuth): ReturnType<SmtpOAuth["secrets"]> {
  try {
    return oauth.secrets();
  } catch (error) {
    throw new NotConnected((error as Error).message, { kind: "file", lasts: true });
  }
}

type TokenAnswer = Record<string, unknown>;

/** Requests a token. Of a refusal only OAuth2's error code is repeated: its text may quote the request. */
async function ask(url: string, form: Record<string, string>): Promise<TokenAnswer> {
  const { status, answer } = await post(url, form);
  if (status === 200) return answer ?? {};
  const code = refusals.find((word) => word === answer?.error);
  const said = `SMTP relay: the token endpoint answered ${status}${code ? ` (${code})` : ""}`;
  // 429 and 5xx are the endpoint's trouble; other refusals are our configuration's.
  throw status >= 400 && status < 500 && status !== 408 && status !== 429
    ? new CredentialsRefused(said)
    : new Unavailable(said);
}

/** Error codes of RFC 6749, section 5.2. */
const refusals = [
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
];

async function post(
  url: string,
  form: Record<string, string>,
): Promise<{ status: number; answer: TokenAnswer | undefined }> {
  try {
    const response = await fetch(url, {
      method: "POST",
      body: new URLSearchParams(form),
      headers: { accept: "application/json" },
      // The secrets are for this address alone.
      redirect: "error",
      signal: AbortSignal.timeout(answerMs),
    });
    const { bytes } = await beginningOf(response.body, maxAnswerBytes);
    return { status: response.status, answer: parsed(bytes.toString()) };
  } catch (error) {
    const { name, cause } = error as Error & { cause?: { code?: string } };
    const why = name === "TimeoutError" ? `no answer within ${answerMs} ms` : (cause?.code ?? "no proper answer");
    throw new Unavailable(`SMTP relay: the token endpoint could not be asked: ${why}`);
  }
}

function parsed(text: string): TokenAnswer | undefined {
  try {
    const answer: unknown = JSON.parse(text);
    return typeof answer === "object" && answer !== null ? (answer as TokenAnswer) : undefined;
  } catch {
    return undefined;
  }
}
