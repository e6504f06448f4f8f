import type { Request, Response } from "express";
import { pageHeaders } from "#src/html/page.ts";
import { Rejected } from "#streams/decider.ts";

/** What the pages behind the links of our mail have in common: `/a`, `/l`, `/stop`. */

export function answerPage(response: Response, status: number, page: string): void {
  response.status(status).set(pageHeaders).send(page);
}

/** Counts a link that there is not; throws Rejected rate_limited when its sender has tried too many. */
export type CountUnknown = (request: Request) => Promise<void>;

/** Only what does not exist is counted: a good link is shown whatever others try from the same address. */
export async function answerUnknownLink(
  request: Request,
  response: Response,
  { countUnknown, pages }: { countUnknown?: CountUnknown; pages: { unknownPage(): string; tooManyPage(): string } },
): Promise<void> {
  try {
    await countUnknown?.(request);
  } catch (error) {
    if (!(error instanceof Rejected) || error.code !== "rate_limited") throw error;
    return answerPage(response.setHeader("Retry-After", String(error.details.retryAfter)), 429, pages.tooManyPage());
  }
  answerPage(response, 404, pages.unknownPage());
}

/** Who pressed, as far as HTTP knows. */
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
