import { Readable } from "node:stream";
import type SMTPConnection from "nodemailer/lib/smtp-connection";
import type { HandOverOutcome, MayStillSend, OutgoingMail } from "#src/mail/mailProvider.ts";

/** nodemailer's error. `command` is omitted on purpose: it names CONN for a connection lost after the final dot. */
type SmtpError = Error & { code?: string; response?: string; responseCode?: number | false };

/** Time limits in milliseconds; `envelopeMs` is per recipient. */
export type HandOverLimits = { envelopeMs: number; contentMs: number; answerMs: number };

const chunkBytes = 64 * 1024;

/**
 * Hands one mail over a ready connection. Everything rests on one fact, whether content was begun: before that nothing was handed over,
 * whatever happens; after it only the server's own reply is an answer, and everything else is unknown. Never throws. The caller closes
 * the connection as soon as it has the outcome.
 */
export function handOverBySmtp(
  connection: SMTPConnection,
  { mail, mayWrite }: { mail: OutgoingMail; mayWrite: MayStillSend },
  limits: HandOverLimits,
): Promise<HandOverOutcome> {
  return new Promise((resolve) => {
    // nodemailer records its results on the envelope object it is given.
    const envelope: SmtpEnvelope = { from: mail.envelope.from, to: [...mail.envelope.to], size: mail.mime.length };
    let settled = false;
    let timer = setTimeout(() => settle(lost("no go-ahead in time")), limits.envelopeMs * envelope.to.length);

    const settle = (outcome: HandOverOutcome) => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      // Destroyed, never ended: an end would write the final dot.
      if (!content.finished()) content.stream.destroy();
      resolve(outcome);
    };
    const lost = (message: string): HandOverOutcome => ({
      kind: content.begun() ? "unknown" : "not_handed_over",
      message,
    });
    const within = (ms: number, what: string) => {
      clearTimeout(timer);
      timer = setTimeout(() => settle(lost(what)), ms);
    };

    const content = contentOf(mail.mime, {
      async mayBegin() {
        if (envelope.rejectedErrors?.length)
          settle(refusedRecipients(envelope) ?? lost("no proper answer to a recipient"));
        else if (!settled && !(await says(mayWrite)))
          settle({ kind: "not_handed_over", message: "the send was withdrawn before the content was written" });
        return !settled;
      },
      progressed: () => within(limits.contentMs, "the server stopped taking the content"),
      finished: () => within(limits.answerMs, "no answer after the final dot"),
    });

    connection.send(envelope, content.stream, (error, info) => {
      if (error) settle(answer(error, envelope, content.begun()) ?? lost(error.message));
      else if (!content.finished()) settle(lost("the server answered before it had the content"));
      else
        settle(
          /^2\d\d(?:[ -]|$)/.test(info?.response ?? "")
            ? { kind: "accepted", response: info!.response }
            : lost("no proper answer"),
        );
    });
  });
}

type SmtpEnvelope = { from: string; to: string[]; size: number; rejectedErrors?: SmtpError[] };

type ContentHooks = { mayBegin(): Promise<boolean>; progressed(): void; finished(): void };

/** Returns the content as a stream that is first read after the server's 354, and then asks whether it may be sent. */
function contentOf(mime: Buffer, hooks: ContentHooks) {
  let at = 0;
  let begun = false;
  let finished = false;
  const give = () => {
    if (at < mime.length) {
      hooks.progressed();
      const chunk = mime.subarray(at, at + chunkBytes);
      at += chunk.length;
      stream.push(chunk);
    } else {
      finished = true;
      hooks.finished();
      stream.push(null);
    }
  };
  const stream = new Readable({
    read() {
      if (begun) give();
      // Waits one turn of the event loop: an answer that arrived together with the 354 is then seen before anything is written, and is not
      // taken for the answer to this mail.
      else
        setImmediate(async () => {
          // The connection may have been lost while waiting: then the stream is destroyed, and nothing is begun.
          if (stream.destroyed || !(await hooks.mayBegin()) || stream.destroyed) return;
          begun = true;
          give();
        });
    },
  });
  return { stream, begun: () => begun, finished: () => finished };
}

async function says(mayWrite: MayStillSend): Promise<boolean> {
  try {
    return await mayWrite();
  } catch {
    return false;
  }
}

/** Interprets a reply of the server, or nodemailer's refusal to offer the mail; undefined if the error is not an answer. */
function answer(error: SmtpError, envelope: SmtpEnvelope, begun: boolean): HandOverOutcome | undefined {
  if (!begun) {
    const refusal = refusedRecipients(envelope);
    if (refusal) return refusal;
    const unfit = !error.response && (error.code === "EMESSAGE" || error.code === "EENVELOPE");
    if (unfit)
      return {
        kind: "refused",
        retryable: false,
        code: error.code === "EMESSAGE" ? "552" : "553",
        message: error.message,
      };
  }
  return refusalBy(error);
}

function refusalBy(error: SmtpError): Extract<HandOverOutcome, { kind: "refused" }> | undefined {
  const [, code] = /^([45]\d\d)(?:[ -]|$)/.exec(error.response ?? "") ?? [];
  return code ? { kind: "refused", retryable: code.startsWith("4"), code, message: error.message } : undefined;
}

/** A refused recipient refuses the whole mail, permanently if one refusal is permanent. */
function refusedRecipients(envelope: SmtpEnvelope): HandOverOutcome | undefined {
  const refusals = (envelope.rejectedErrors ?? []).map(refusalBy).filter((refusal) => refusal !== undefined);
  return refusals.find((refusal) => !refusal.retryable) ?? refusals[0];
}
