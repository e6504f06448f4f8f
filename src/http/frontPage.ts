import { type Request, Router } from "express";
import { html } from "#src/html/html.ts";
import { page, pageHeaders } from "#src/html/page.ts";
import { reply } from "./framework/reply.ts";
import { send } from "./framework/send.ts";
import { brokenParts, type ReadinessCheck } from "./health/health.ts";

export type FrontPageOptions = {
  /** Checks of /readyz. */
  readiness: readonly ReadinessCheck[];
  /** True if this installation catches its mail at /outbox and the caller could see it. */
  hasOutbox: (request: Request) => boolean;
  /**
   * True if the browser has a session cookie, valid or not: it is then redirected to the sign-in page, which leads people with a session to
   * their first page.
   */
  hasSession: (request: Request) => boolean;
};

/** `/`: introduces the service, shows whether it is ready, and links to its pages. Needs no key and shows nothing of any workspace. */
export function frontPage({ readiness, hasOutbox, hasSession }: FrontPageOptions): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get("/", async (request, response) => {
    if (hasSession(request)) return void response.redirect(303, "/sign-in");
    const bytes = Buffer.from(shown(await brokenParts(readiness), hasOutbox(request)));
    await send(response, reply({ bytes, headers: pageHeaders }));
  });
  return router;
}

const shown = (broken: readonly string[], hasOutbox: boolean): string => {
  const title = broken.length === 0 ? "Countersign is running" : "Countersign is not ready";
  return page({
    title: `${title}: Countersign`,
    main: html`<div class="card outcome ${broken.length === 0 ? "good" : "wait"}"><h1>${title}</h1>
<p>An automated agent reads and answers real email here. A person approves each reply before it is sent.</p>
${broken.length > 0 && html`<p>These parts do not respond: ${broken.join(", ")}. <a href="/readyz">Details</a></p>`}</div>
<p><a class="press" href="/sign-in">Sign in</a></p>
<ul>
<li><a href="/docs">Docs</a>: every API call. All are under <code>/v1</code> and need a key. See also <a href="/docs/contract">the contract</a> and <a href="/docs/operations">operations</a></li>
${hasOutbox && html`<li><a href="/outbox">Outbox</a>: outgoing mail is caught here, not sent</li>`}
</ul>`,
  });
};
