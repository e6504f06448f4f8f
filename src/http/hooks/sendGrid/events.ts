import express, { type Request, type Response, type Router } from "express";
import type { Logger } from "pino";
import type { ProviderEvent } from "#src/commands/sends/providerEvents.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { Clock } from "#src/platform/clock.ts";
import { Rejected } from "#streams/decider.ts";
import { errorHandler } from "../../framework/errorHandler.ts";
import { errorReply } from "../../framework/errors.ts";
import { reply } from "../../framework/reply.ts";
import { send } from "../../framework/send.ts";
import { rawBody } from "../rawBody.ts";
import { providerEventOf } from "./eventWords.ts";
import { atMostOnceAMinute } from "./inbound.ts";
import { type SignatureFault, signatureJudge } from "./signature.ts";

export type SendGridEventsOptions = {
  /** Resolves once the events are durable. `requestId`: of the request that contained them. */
  record(events: ProviderEvent[], requestId: string): Promise<void>;
  /** The verification key of the signed Event Webhook; without it the path does not exist. */
  publicKey: string | undefined;
  /** Counts an unauthenticated request; throws Rejected rate_limited. */
  countUnknown(request: Request): Promise<void>;
  clock: Pick<Clock, "now">;
  logger: Pick<Logger, "warn" | "error">;
};

/** Bytes. Batches have about 768 kB. */
const maxBytes = 4 * 1024 * 1024;

/** Hours for which SendGrid retries a batch. */
const oldestHours = 24;

/**
 * Receives the delivery events of SendGrid's Event Webhook. The signature is checked before the body is parsed. Answers 200 once all events
 * are durable; after any other answer SendGrid retries for 24 hours, and repeated events change nothing.
 */
export function sendGridEvents(options: SendGridEventsOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  if (options.publicKey === undefined) return router;
  const doubtOf = signatureJudge(options.publicKey, { oldestHours });
  const warn = atMostOnceAMinute((details: object, sentence: string) => options.logger.warn(details, sentence));
  const path = "/hooks/sendgrid/events";

  router.post(path, rawBody(maxBytes), async (request: Request, response: Response) => {
    const body: Buffer = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const doubt = doubtOf({ headers: request.headers, body, now: options.clock.now() });
    if (doubt) {
      await options.countUnknown(request);
      if (doubt !== "unsigned") warn({ why: sentenceOf[doubt] }, "a call to the SendGrid event webhook was refused");
      throw new Rejected("unauthorized", `this call does not come from SendGrid: ${sentenceOf[doubt]}`);
    }
    const told = eventsIn(body);
    const events = told.map(providerEventOf).filter((event) => event !== undefined);
    await options.record(events, String(request.id));
    await send(response, reply({ json: { received: told.length, recorded: events.length } }));
  });

  router.use(
    path,
    errorHandler(async ({ error, request, response, next }) => {
      if (response.headersSent) return next(error);
      const { status } = error as { status?: unknown };
      const requestId = String(request.id);
      if (status === 413 || status === 415) {
        const says = status === 413 ? "the body is too large" : "compressed bodies are not accepted";
        return send(
          response,
          reply({ json: { error: "payload_too_large", message: says, request_id: requestId }, status }),
        );
      }
      // The caller disconnected before all of the body arrived.
      if (typeof status === "number" && status < 500) return void response.destroy();
      if (!(error instanceof Rejected) && !(error instanceof Unavailable))
        options.logger.error({ err: error }, "events from SendGrid cannot be recorded; SendGrid will post them again");
      await send(response, errorReply(error, { requestId }));
    }),
  );
  return router;
}

const sentenceOf: Record<SignatureFault, string> = {
  unsigned: "it is not signed",
  forged: "its signature does not match SENDGRID_EVENT_PUBLIC_KEY, or the body was changed in transit",
  late: "it was signed more than a day ago or in the future",
};

/** The events of a batch; a single event is accepted too. Throws Rejected invalid_request. */
function eventsIn(body: Buffer): unknown[] {
  try {
    return [JSON.parse(body.toString("utf8"))].flat();
  } catch {
    throw new Rejected("invalid_request", "the body is not JSON");
  }
}
