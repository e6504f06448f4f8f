import express, {
  type ErrorRequestHandler,
  type NextFunction,
  type Request,
  type RequestHandler,
  type Response,
  Router,
} from "express";
import type { CaughtMail, Outbox } from "#src/mail/out/outbox.ts";
import { Rejected } from "#streams/decider.ts";
import { errorHandler } from "../framework/errorHandler.ts";
import { errorReply } from "../framework/errors.ts";
import { send } from "../framework/send.ts";
import { cookieName, type OutboxAccess } from "./access.ts";
import { bodyPage, listPage, mailPage, missingPage, tokenPage } from "./outboxPage.ts";

const shownInList = 100;
const largestId = 2 ** 53 - 1;

export type OutboxPagesOptions = {
  outbox: Outbox;
  access: OutboxAccess;
  /** True if browsers reach the service by https only, so that the cookie can be Secure. */
  https: boolean;
};

/**
 * The caught mail: pages for people, JSON for scripts and tests, and each mail as handed over. Callers without access get 404, as for an
 * unknown route; if a token is configured, the 404 page of /outbox itself has a form for it.
 */
export function outboxPages({ outbox, access, https }: OutboxPagesOptions): Router {
  const router = Router();

  const form = express.urlencoded({ extended: false, limit: 2048, parameterLimit: 5, inflate: false });
  if (access.hasForm) router.post("/outbox", form, letIn, failed(askAgain));
  for (const [path, show] of Object.entries(shown(outbox))) router.get(path, guard, show);
  router.use(failed());
  return router;

  async function guard(request: Request, response: Response, next: NextFunction): Promise<void> {
    if (await access.mayEnter(request)) return next();
    // Leave this router: its other handlers must not be reached.
    if (!access.hasForm || request.path !== "/outbox") return next("router");
    page(response, formPolicy).status(404).send(String(tokenPage()));
  }

  async function letIn(request: Request, response: Response): Promise<void> {
    const { token } = (request.body ?? {}) as { token?: unknown };
    const cookie = await access.cookieFor(typeof token === "string" ? token.trim() : "", request);
    if (!cookie) return askAgain(response);
    const secure = https || request.secure ? "; Secure" : "";
    const limits = `Path=/outbox; Max-Age=${cookie.maxAge}; HttpOnly; SameSite=Strict${secure}`;
    response
      .status(303)
      .set({
        "Set-Cookie": `${cookieName}=${cookie.value}; ${limits}`,
        "Cache-Control": "no-store",
        Location: "/outbox",
      })
      .end();
  }

  function askAgain(response: Response): void {
    page(response, formPolicy)
      .status(404)
      .send(String(tokenPage("That token is not right.")));
  }
}

/** Answers 429 after too many wrong tokens; an unreadable form counts as a wrong token. */
const failed = (unreadable?: (response: Response) => void): ErrorRequestHandler =>
  errorHandler(async ({ error, request, response, next }) => {
    if (error instanceof Rejected) return send(response, errorReply(error, { requestId: String(request.id) }));
    const { status } = error as { status?: unknown };
    if (unreadable && typeof status === "number" && status >= 400 && status < 500) return unreadable(response);
    next(error);
  });

/** The handlers by path. */
const shown = (outbox: Outbox): Record<string, RequestHandler> => ({
  "/outbox": async (_request, response) => {
    page(response).send(String(listPage(await outbox.newest(shownInList))));
  },

  "/outbox.json": async (request, response) => {
    response.set("Cache-Control", "no-store").type("json");
    let separator = "[";
    for await (const mail of outbox.after(idOf(request.query.after) ?? 0)) {
      response.write(`${separator}${JSON.stringify(wire(mail))}`);
      separator = ",";
    }
    response.end(separator === "[" ? "[]" : "]");
  },

  "/outbox/:id": async (request, response) => {
    const mail = await found(request.params.id, outbox.find);
    page(response)
      .status(mail ? 200 : 404)
      .send(String(mail ? mailPage(mail) : missingPage()));
  },

  "/outbox/:id/html": async (request, response) => {
    const mail = await found(request.params.id, outbox.find);
    if (mail?.html == null) page(response).status(404).send(String(missingPage()));
    else page(response, strangersPolicy).send(bodyPage(mail.html));
  },

  "/outbox/:id/raw": async (request, response) => {
    const mime = await found(request.params.id, outbox.raw);
    if (!mime) page(response).status(404).send(String(missingPage()));
    else
      response
        .set({
          "Content-Type": "message/rfc822",
          "Content-Disposition": `attachment; filename="${idOf(request.params.id)}.eml"`,
          "Cache-Control": "no-store",
          "X-Content-Type-Options": "nosniff",
        })
        .send(mime);
  },
});

const ownPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const formPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
// For a mail's own HTML: no script, no requests, and a separate origin even if opened directly. Links open in a new tab.
const strangersPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox";

const page = (response: Response, policy = ownPolicy): Response =>
  response.type("html").set({
    "Content-Security-Policy": policy,
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
  });

function idOf(text: unknown): number | undefined {
  const id = typeof text === "string" && /^\d{1,16}$/.test(text) ? Number(text) : undefined;
  return id !== undefined && id <= largestId ? id : undefined;
}

async function found<T>(text: unknown, find: (id: number) => Promise<T | undefined>): Promise<T | undefined> {
  const id = idOf(text);
  return id === undefined ? undefined : find(id);
}

const wire = (mail: CaughtMail) => ({
  id: mail.id,
  at: mail.at.toISOString(),
  message_id: mail.messageId,
  attempt_id: mail.attemptId,
  from: mail.from.address,
  from_name: mail.from.name,
  to: mail.envelope.to,
  subject: mail.subject,
  text: mail.text,
  html: mail.html,
  headers: mail.headers,
  attachments: mail.attachments.map(({ filename, contentType, bytes }) => ({
    filename,
    content_type: contentType,
    size_bytes: bytes,
  })),
  raw_url: `/outbox/${mail.id}/raw`,
});
