import { randomUUID } from "node:crypto";
import type { ErrorRequestHandler, Request, Response } from "express";
import { Rejected } from "#streams/decider.ts";
import { errorHandler } from "./errorHandler.ts";
import { unauthorized } from "./keys/authenticate.ts";
import type { RequestInFlight } from "./keys/requestsInFlight.ts";
import type { Reply } from "./reply.ts";
import { send } from "./send.ts";

/**
 * A kind of request: how its sender is identified, and how refusals are shown. REST, the console, /auth, MCP and the pages behind links are
 * entry points; `admit` and `answer` check requests in the same order at each of them.
 */
export type EntryPoint<Who> = {
  /** Throws if a page of another site sends the request. */
  requireOrigin?: ((request: Request) => void) | undefined;
  /** Throws NotReadable while the read models that the credential or the answer needs cannot be read. */
  requireReadable?: (() => void) | undefined;
  /** Identifies the sender by key, session or link. Throws an error that `refused` can explain. */
  credential(request: Request, response: Response): Promise<Who>;
  /** Registers the request under the key or session that admitted it. Absent: this entry point's rights cannot end during a request. */
  enter?(who: Who, callId: string): RequestInFlight | undefined;
  /**
   * Resolves when this instance has read every revocation that another instance has confirmed; throws Unavailable if it cannot read them.
   */
  upToDate?: (() => void | Promise<void>) | undefined;
  /** Renders a refusal or an internal error. Undefined: the next entry point handles the request. */
  refused(error: unknown, request: Request): Reply | undefined;
  /** Called when an answer broke off after its first byte. */
  interrupted?: ((error: unknown, request: Request) => void) | undefined;
};

/**
 * The part of an entry point that identifies callers: by API key (`keys/keyCredential.ts`), by session (`../web/sessionPrincipal.ts`), or by a
 * link.
 */
export type Credential<Who> = Pick<EntryPoint<Who>, "credential" | "enter" | "upToDate">;

/** A request whose sender was identified and accepted by an entry point. */
export type Admitted<Who> = {
  request: Request;
  response: Response;
  who: Who;
  /** Id of the request, made by this instance; never chosen by a client. */
  callId: string;
  flight: RequestInFlight | undefined;
  /** Aborted when the key or session of the request is revoked. */
  signal: AbortSignal;
};

type Exchange = { request: Request; response: Response };

/** The key or session that admitted the request was revoked while the request ran. */
export class RightEnded extends Rejected {
  constructor() {
    const { code, message } = unauthorized();
    super(code, message);
  }
}

/** Checks, in this order, the origin, that the credential can be looked up, and who sends the request. Throws if one of them fails. */
export async function admit<Who>({ request, response }: Exchange, entryPoint: EntryPoint<Who>): Promise<Admitted<Who>> {
  entryPoint.requireOrigin?.(request);
  entryPoint.requireReadable?.();
  const who = await entryPoint.credential(request, response);
  const callId = randomUUID();
  const flight = entryPoint.enter?.(who, callId);
  if (flight?.revoked) {
    flight.leave();
    throw new RightEnded();
  }
  return { request, response, who, callId, flight, signal: flight?.signal ?? new AbortController().signal };
}

/**
 * Admits a request, does its work and sends the answer; sends a refusal if the sender's right ended in between. The work resolves with
 * undefined if it has sent the answer itself. Resolves with false if the next entry point should handle the request.
 */
export async function answer<Who>(
  { request, response }: Exchange,
  entryPoint: EntryPoint<Who>,
  work: (admitted: Admitted<Who>) => Promise<Reply | undefined>,
): Promise<boolean> {
  const closed = new Promise<void>((resolve) => response.once("close", resolve));
  let flight: RequestInFlight | undefined;
  let working: Promise<Reply | undefined> | undefined;
  let reply: Reply | undefined;
  try {
    const admitted = await admit({ request, response }, entryPoint);
    flight = admitted.flight;
    working = work(admitted);
    if (flight) leaveWhenOver(flight, { request, response }, [working, closed]);
    // A refusal reveals as much as an answer: both wait until this instance has read every revocation.
    reply = await (flight
      ? Promise.race([working, whenEnded(flight.signal)]).finally(() => entryPoint.upToDate?.())
      : working);
  } catch (error) {
    if (response.headersSent) return breakOff(error, { request, response }, entryPoint);
    reply = entryPoint.refused(error, request);
    if (!reply) return false;
  }
  // No await between this check and the answer: the right is still valid when the answer is sent.
  if (flight?.revoked) reply = entryPoint.refused(new RightEnded(), request);
  void working?.then((made) => (made === reply ? undefined : closeStream(made)), ignore);
  if (reply) await sendOrBreakOff(reply, { request, response, flight }, entryPoint);
  return true;
}

/** Closes the stream of an answer that is not sent, because the stream would stay open otherwise. */
function closeStream(made: Reply | undefined): void {
  if (made && "stream" in made.content) made.content.stream.destroy();
}

/** Ignores a failure that was answered already. */
const ignore = (): void => {};

/** Express error handler that answers errors raised before the entry point, such as an unreadable body, in the form of the entry point. */
export const refusalHandler = (entryPoint: Pick<EntryPoint<never>, "refused" | "interrupted">): ErrorRequestHandler =>
  errorHandler(async ({ error, request, response, next }) => {
    if (response.headersSent) return void breakOff(error, { request, response }, entryPoint);
    const reply = entryPoint.refused(error, request);
    if (reply) await send(response, reply);
    else next(error);
  });

/** Sends an answer. An error before the first byte is answered instead; after it, the connection is closed. */
async function sendOrBreakOff(
  reply: Reply,
  { request, response, flight }: Exchange & { flight: RequestInFlight | undefined },
  entryPoint: Pick<EntryPoint<never>, "refused" | "interrupted">,
): Promise<void> {
  try {
    await send(response, reply, flight?.signal);
  } catch (error) {
    if (response.headersSent || response.destroyed) breakOff(error, { request, response }, entryPoint);
    else await send(response, entryPoint.refused(error, request) ?? reply);
  }
}

/** Closes the connection, so that no client takes a partial answer for a complete one. */
function breakOff(
  error: unknown,
  { request, response }: Exchange,
  entryPoint: Pick<EntryPoint<never>, "interrupted">,
): true {
  entryPoint.interrupted?.(error, request);
  response.destroy();
  return true;
}

/** Milliseconds that a client may take to finish a request whose right has ended, before the connection is cut. */
const endedGraceMs = 1_000;

/**
 * Ends the flight when all `ends` have settled: an answer alone is not enough, because revoked work may still be about to append events.
 */
function leaveWhenOver(flight: RequestInFlight, { request, response }: Exchange, ends: Promise<unknown>[]): void {
  void Promise.allSettled(ends).then(flight.leave);
  flight.signal.addEventListener("abort", () => {
    const cut = setTimeout(() => {
      if (!request.complete || !response.writableFinished) request.destroy();
    }, endedGraceMs);
    cut.unref();
  });
}

const whenEnded = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(new RightEnded());
    signal.addEventListener("abort", () => reject(new RightEnded()));
  });
