import type { Request, RequestHandler } from "express";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { pageHeaders } from "#src/html/page.ts";
import { Rejected } from "#streams/decider.ts";
import { type Admitted, answer, type EntryPoint } from "../framework/entryPoint.ts";
import { Reply } from "../framework/reply.ts";
import { send } from "../framework/send.ts";
import { unreadableStatus } from "./refusals.ts";

/** Shared parts of the pages behind mailed links (`/a`, `/l`, `/stop`) and `/billing`. The link itself is the right to see its page. */

export const linkPage = (status: number, page: string, headers: Record<string, string> = {}): Reply =>
  new Reply({ bytes: Buffer.from(page) }, status, { ...pageHeaders, ...headers });

/** Counts a look-up of a link that does not exist; throws Rejected rate_limited if its sender has tried too many. */
export type CountUnknown = (request: Request) => Promise<void>;

/** Pages that answer refused requests. */
export type RefusalPages = {
  unknownPage(): string;
  tooManyPage(): string;
  unavailablePage(posted: boolean): string;
  /** For a form that could not be read: too large, or not a form. Absent: `unavailablePage` is shown. */
  unreadablePage?(status: number): string;
  brokenPage(): string;
  methodPage(): string;
};

type LinkOptions = {
  countUnknown?: CountUnknown | undefined;
  /** Called with internal errors. */
  onError?: ((error: unknown, request: Request) => void) | undefined;
};

/** Thrown if a link does not exist, or shows nothing to this caller: both get the same page. */
export class UnknownLink extends Error {
  override readonly name = "UnknownLink";
}

/** An entry point whose credential is the link: `find` resolves with the data behind the link, undefined if it does not exist. */
export function linkEntryPoint<Link>(
  find: (request: Request) => Promise<Link | undefined>,
  pages: RefusalPages,
  { countUnknown, onError }: LinkOptions,
): EntryPoint<Link> {
  return {
    async credential(request) {
      const link = await find(request);
      if (link !== undefined) return link;
      // Only links that do not exist are counted: a valid link is shown whatever others try from the same address.
      await countUnknown?.(request);
      throw new UnknownLink();
    },
    refused(error, request) {
      if (error instanceof UnknownLink) return linkPage(404, pages.unknownPage());
      if (error instanceof Rejected && error.code === "rate_limited")
        return linkPage(429, pages.tooManyPage(), { "Retry-After": String(error.details.retryAfter) });
      if (error instanceof Unavailable) {
        const { retryAfter = 2 } = error as { retryAfter?: number };
        return linkPage(503, pages.unavailablePage(request.method === "POST"), { "Retry-After": String(retryAfter) });
      }
      const unreadable = unreadableStatus(error);
      if (unreadable !== undefined)
        return linkPage(unreadable, pages.unreadablePage?.(unreadable) ?? pages.unavailablePage(false));
      onError?.(error, request);
      return linkPage(500, pages.brokenPage());
    },
    interrupted: onError,
  };
}

/** Handles a request for an existing link. */
export const onLink =
  <Link>(
    entryPoint: EntryPoint<Link>,
    work: (link: Link, call: Admitted<Link>) => Promise<Reply | undefined>,
  ): RequestHandler =>
  async (request, response) => {
    await answer({ request, response }, entryPoint, (admitted) => work(admitted.who, admitted));
  };

/** Answers 405 to every other method. */
export const onlyMethods =
  (allowed: string, pages: Pick<RefusalPages, "methodPage">): RequestHandler =>
  (_, response) =>
    send(response, linkPage(405, pages.methodPage(), { Allow: allowed }));

/** The IP address, user agent and request id of the person who pressed the button. */
export function callerOf(request: Request): {
  ip: string | undefined;
  userAgent: string | undefined;
  requestId: string | undefined;
} {
  const { id } = request as Request & { id?: unknown };
  return {
    ip: request.ip,
    userAgent: request.get("user-agent")?.slice(0, 512),
    requestId: typeof id === "string" ? id : undefined,
  };
}
