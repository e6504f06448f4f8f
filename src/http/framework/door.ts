import { randomUUID } from "node:crypto";
import type { ErrorRequestHandler, Request, Response } from "express";
import { Rejected } from "#streams/decider.ts";
import { errorHandler } from "./errorHandler.ts";
import { unauthorized } from "./keys/authenticate.ts";
import type { Flight } from "./keys/inFlight.ts";
import type { Reply } from "./reply.ts";
import { send } from "./send.ts";

/**
 * One kind of request: how it shows who sends it, and how a refusal of it looks. REST, the console, /auth, MCP and the pages behind links are
 * doors; `admit` and `answer` judge a request in the same order at each.
 */
export type Door<Who> = {
  /** Throws if a page of another site sends the request. */
  requireOrigin?: ((request: Request) => void) | undefined;
  /** Throws NotReadable while the credential, or the answer, cannot be looked up. */
  requireReadable?: (() => void) | undefined;
  /** Finds out by key, session or link who sends the request. Throws what `refused` explains. */
  credential(request: Request, response: Response): Promise<Who>;
  /** Registers the request under the right by which it was admitted. Absent: the door knows no right that could end meanwhile. */
  enter?(who: Who, callId: string): Flight | undefined;
  /** Resolves when this instance knows every right that another instance has ended; throws Unavailable if it cannot find out. */
  upToDate?: (() => void | Promise<void>) | undefined;
  /** Renders a refusal or a fault. Undefined: the request is left to the next door. */
  refused(error: unknown, request: Request): Reply | undefined;
  /** Called when an answer broke off after its first byte. */
  interrupted?: ((error: unknown, request: Request) => void) | undefined;
};

/** How a door knows its callers: by API key (`keys/keyCredential.ts`), by session (`../web/sessionPrincipal.ts`), or by a link. */
export type Credential<Who> = Pick<Door<Who>, "credential" | "enter" | "upToDate">;

/** A request that a door has let in. */
export type Admitted<Who> = {
  request: Request;
  response: Response;
  who: Who;
  /** This instance's own name for the request; never a client's. */
  callId: string;
  flight: Flight | undefined;
  /** Aborted when the right of the request ends. */
  signal: AbortSignal;
};

type Exchange = { request: Request; response: Response };

/** The right under which a request was admitted has ended meanwhile. */
export class RightEnded extends Rejected {
  constructor() {
    const { code, message } = unauthorized();
    super(code, message);
  }
}

/** The first judgements on a request: where it comes from, whether its credential can be looked up, and who sends it. Throws what they refuse. */
export async function admit<Who>({ request, response }: Exchange, door: Door<Who>): Promise<Admitted<Who>> {
  door.requireOrigin?.(request);
  door.requireReadable?.();
  const who = await door.credential(request, response);
  const callId = randomUUID();
  const flight = door.enter?.(who, callId);
  if (flight?.revoked) {
    flight.leave();
    throw new RightEnded();
  }
  return { request, response, who, callId, flight, signal: flight?.signal ?? new AbortController().signal };
}

/**
 * Admits a request, does its work and sends the answer, but none under a right that has ended meanwhile. The work resolves with undefined if it
 * has answered by itself. Resolves with false if the door leaves the request to the next one.
 */
export async function answer<Who>(
  { request, response }: Exchange,
  door: Door<Who>,
  work: (admitted: Admitted<Who>) => Promise<Reply | undefined>,
): Promise<boolean> {
  const closed = new Promise<void>((resolve) => response.once("close", resolve));
  let flight: Flight | undefined;
  let working: Promise<Reply | undefined> | undefined;
  let reply: Reply | undefined;
  try {
    const admitted = await admit({ request, response }, door);
    flight = admitted.flight;
    working = work(admitted);
    if (flight) leaveWhenOver(flight, { request, response }, [working, closed]);
    // A refusal says as much as an answer does: both wait until every ended right is known.
    reply = await (flight
      ? Promise.race([working, whenEnded(flight.signal)]).finally(() => door.upToDate?.())
      : working);
  } catch (error) {
    if (response.headersSent) return breakOff(error, { request, response }, door);
    reply = door.refused(error, request);
    if (!reply) return false;
  }
  // Nothing is awaited between this check and the answer: the right still holds when the answer is sent.
  if (flight?.revoked) reply = door.refused(new RightEnded(), request);
  void working?.then((made) => (made === reply ? undefined : closeStream(made)), ignore);
  if (reply) await sendOrBreakOff(reply, { request, response, flight }, door);
  return true;
}

/** The stream of an answer that is not sent would stay open. */
function closeStream(made: Reply | undefined): void {
  if (made && "stream" in made.content) made.content.stream.destroy();
}

/** A failure was answered already. */
const ignore = (): void => {};

/** Answers what Express itself refused on the way to a door, such as a body that cannot be read. */
export const refusing = (door: Pick<Door<never>, "refused" | "interrupted">): ErrorRequestHandler =>
  errorHandler(async ({ error, request, response, next }) => {
    if (response.headersSent) return void breakOff(error, { request, response }, door);
    const reply = door.refused(error, request);
    if (reply) await send(response, reply);
    else next(error);
  });

/** Before its first byte an answer can still become an error; after it, only the end of the connection tells. */
async function sendOrBreakOff(
  reply: Reply,
  { request, response, flight }: Exchange & { flight: Flight | undefined },
  door: Pick<Door<never>, "refused" | "interrupted">,
): Promise<void> {
  try {
    await send(response, reply, flight?.signal);
  } catch (error) {
    if (response.headersSent || response.destroyed) breakOff(error, { request, response }, door);
    else await send(response, door.refused(error, request) ?? reply);
  }
}

/** Closes the connection, so that nobody takes a part of an answer for the whole. */
function breakOff(error: unknown, { request, response }: Exchange, door: Pick<Door<never>, "interrupted">): true {
  door.interrupted?.(error, request);
  response.destroy();
  return true;
}

/** Milliseconds that a client may take over its end of a request whose right has ended. */
const endedGraceMs = 1_000;

/** A flight ends with its work, not with its answer: a request that was answered because its right ended may still be about to append. */
function leaveWhenOver(flight: Flight, { request, response }: Exchange, ends: Promise<unknown>[]): void {
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
