import { type Response, Router } from "express";
import type { CaughtMail, Outbox } from "#src/mail/out/outbox.ts";
import { bodyPage, listPage, mailPage, missingPage } from "./outboxPage.ts";

const shownInList = 100;
const largestId = 2 ** 53 - 1;

/** The caught mail of a development install: pages for a person, JSON for scripts and tests, and each mail as it was handed over. */
export function outboxPages({ outbox }: { outbox: Outbox }): Router {
  const router = Router();

  router.get("/outbox", async (_request, response) => {
    page(response).send(String(listPage(await outbox.newest(shownInList))));
  });

  router.get("/outbox.json", async (request, response) => {
    response.set("Cache-Control", "no-store").type("json");
    let separator = "[";
    for await (const mail of outbox.after(idOf(request.query.after) ?? 0)) {
      response.write(`${separator}${JSON.stringify(wire(mail))}`);
      separator = ",";
    }
    response.end(separator === "[" ? "[]" : "]");
  });

  router.get("/outbox/:id", async (request, response) => {
    const mail = await found(request.params.id, outbox.find);
    page(response)
      .status(mail ? 200 : 404)
      .send(String(mail ? mailPage(mail) : missingPage()));
  });

  router.get("/outbox/:id/html", async (request, response) => {
    const mail = await found(request.params.id, outbox.find);
    if (mail?.html == null) page(response).status(404).send(String(missingPage()));
    else page(response, strangersPolicy).send(bodyPage(mail.html));
  });

  router.get("/outbox/:id/raw", async (request, response) => {
    const mime = await found(request.params.id, outbox.raw);
    if (!mime) page(response).status(404).send(String(missingPage()));
    else
      response
        .set({
          "Content-Type": "message/rfc822",
          "Content-Disposition": `attachment; filename="${idOf(request.params.id)}.eml"`,
        })
        .send(mime);
  });

  return router;
}

const ownPolicy =
  "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
// The mail's own HTML: no script, no request to anywhere, and its own origin even when opened by itself. Its links open in a new tab.
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

async function found<T>(text: string, find: (id: number) => Promise<T | undefined>): Promise<T | undefined> {
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
