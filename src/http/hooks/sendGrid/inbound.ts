import { createHash, timingSafeEqual } from "node:crypto";
import express, { type NextFunction, type Request, type Response, type Router } from "express";
import type { Logger } from "pino";
import type { PostResult, ProviderPost } from "#src/commands/inbound/postedMail.ts";
import { createMemoryRoom } from "#src/commands/memoryRoom.ts";
import { createMessageReader, type ReceivedBody } from "#src/mail/in/messageBody.ts";
import type { Clock } from "#src/platform/clock.ts";
import { readPost } from "./inboundPost.ts";
import { type SignatureFault, signatureJudge } from "./signature.ts";

export type SendGridInboundOptions = {
  take(post: ProviderPost): Promise<PostResult>;
  /** Secrets that a post's path may end with. There are two while one secret is being replaced. */
  secrets: readonly string[];
  /** If set, posts must be signed too. */
  publicKey: string | undefined;
  /**
   * True if SendGrid is expected to deliver mail here. Without a configured secret its posts get 503, so that SendGrid keeps the mail until
   * a secret is set.
   */
  isExpected: boolean;
  /** True if the disk is too full to accept mail. */
  isDiskFull(): boolean;
  /** Counts an unauthenticated request; throws Rejected rate_limited. */
  countUnknown(request: Request): Promise<void>;
  clock: Clock;
  logger: Pick<Logger, "info" | "error">;
  /** Milliseconds in which the body must arrive (default 50,000), before the server ends the request with 408. */
  patienceMs?: number;
  limits?: typeof usualLimits;
};

const megabyte = 1024 * 1024;
const usualLimits = {
  /** Maximum number of bytes of one post; SendGrid's own limit is 30 MB. */
  maxBytes: 40 * megabyte,
  /** Maximum number of bytes of all bodies in memory at once. */
  maxHeldBytes: 128 * megabyte,
  /** Maximum number of bytes of all bodies being parsed and stored at once. */
  maxAtWorkBytes: 48 * megabyte,
};
const retryAfterSeconds = 60;

/** SendGrid retries for 72 hours, after which a refused mail is lost; one more day is accepted. */
const oldestHours = 96;

/**
 * Receives mail from SendGrid's Inbound Parse (raw mode), at a path that ends with a secret. SendGrid discards a mail after any 3xx or 4xx,
 * and retries for 72 hours after 5xx. So callers with the secret get 200 once the mail is durable, and 503 otherwise. Without the secret
 * the body is not read, and the answer is that of an unknown path.
 */
export function sendGridInbound(options: SendGridInboundOptions): Router {
  const { take, publicKey, logger, patienceMs = 50_000, limits = usualLimits } = options;
  const { maxBytes, maxHeldBytes, maxAtWorkBytes } = limits;
  const knows = knowsAnyOf(options.secrets);
  const doubtOf = publicKey === undefined ? () => undefined : signatureJudge(publicKey, { oldestHours });
  const reader = createMessageReader({ maxBytes, maxBufferedBytes: maxHeldBytes, maxBytesOfHolder: maxHeldBytes });
  const room = createMemoryRoom(maxAtWorkBytes);
  const tell = atMostOnceAMinute((details: object, says: string) => logger.error(details, says));

  async function answer(request: Request, response: Response, next: NextFunction): Promise<void> {
    if (options.secrets.length === 0 && options.isExpected) {
      tell({}, "SendGrid posts mail, but SENDGRID_INBOUND_SECRET is not set; SendGrid will post it again");
      return notNow(response);
    }
    if (!knows(String(request.params.secret))) {
      await options.countUnknown(request);
      return next();
    }
    if (options.isDiskFull()) return notNow(response);
    try {
      const body = await received(request);
      try {
        await judge(request, response, body);
      } finally {
        reader.release(body);
      }
    } catch (error) {
      // The caller has disconnected and will post it again.
      if (!request.complete && request.destroyed) return void response.destroy();
      tell({ err: error }, "inbound mail from SendGrid cannot be accepted now; SendGrid will post it again");
      notNow(response);
    }
  }

  async function received(request: Request): Promise<ReceivedBody> {
    const late = setTimeout(() => request.destroy(new Error("the body did not come in time")), patienceMs);
    try {
      return await reader.read(request, { holder: undefined, onFlood: () => request.destroy() });
    } finally {
      clearTimeout(late);
    }
  }

  async function judge(request: Request, response: Response, body: ReceivedBody): Promise<void> {
    if ("refused" in body) {
      if (body.refused === "too_large")
        tell(
          { limit: maxBytes },
          "inbound mail from SendGrid is too large to be accepted; SendGrid will post it again",
        );
      return notNow(response);
    }
    const { raw: bytes } = body;
    const doubt = doubtOf({ headers: request.headers, body: bytes, now: options.clock.now() });
    if (doubt) {
      // The secret is right, so a wrong key or setting is more likely than a forgery, and the mail is genuine.
      tell({ why: sentenceOf[doubt] }, "a post of inbound mail from SendGrid has the secret but no valid signature");
      return notNow(response);
    }
    const taken = await room.take(bytes.length, async () => {
      const post = { bytes, contentType: request.headers["content-type"], ip: request.ip ?? "" };
      return take({ ...post, mail: await readPost(post) });
    });
    if ("quarantined" in taken)
      tell({ reason: taken.quarantined }, "a post of inbound mail from SendGrid could not be read, and was stored");
    logger.info({ ...taken, bytes: bytes.length }, "mail received from SendGrid");
    response.status(200).json(taken);
  }

  const router = express.Router({ caseSensitive: true, strict: true });
  router.post("/hooks/sendgrid/inbound/:secret", answer);
  return router;
}

function notNow(response: Response): void {
  if (response.destroyed) return;
  response
    .status(503)
    .set("Retry-After", String(retryAfterSeconds))
    .json({ error: "unavailable", message: "the mail cannot be accepted at the moment: post it again later" });
}

const sentenceOf: Record<SignatureFault, string> = {
  unsigned:
    "it is not signed: attach the security policy to the Inbound Parse setting, or unset SENDGRID_INBOUND_PUBLIC_KEY",
  forged: "its signature does not match SENDGRID_INBOUND_PUBLIC_KEY, or the body was changed in transit",
  late: "it was signed more than four days ago or in the future: check this machine's clock",
};

/** Compares with all secrets in constant time. */
function knowsAnyOf(secrets: readonly string[]): (given: string) => boolean {
  const hashes = secrets.map(hashOf);
  return (given) => {
    const hash = hashOf(given);
    return hashes.map((each) => timingSafeEqual(each, hash)).includes(true);
  };
}

const hashOf = (text: string): Buffer => createHash("sha256").update(text).digest();

const quietMs = 60_000;

/** Logs a sentence at most once a minute. */
export function atMostOnceAMinute<Details>(say: (details: Details, sentence: string) => void): typeof say {
  const quietUntil = new Map<string, number>();
  return (details, sentence) => {
    if (Date.now() < (quietUntil.get(sentence) ?? 0)) return;
    quietUntil.set(sentence, Date.now() + quietMs);
    say(details, sentence);
  };
}
