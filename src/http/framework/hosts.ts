import type { Request, RequestHandler } from "express";
import { html } from "#src/html/html.ts";
import { page, pageHeaders } from "#src/html/page.ts";
import { shortLine } from "#src/html/visible.ts";
import { reply } from "./reply.ts";
import { send } from "./send.ts";
import { hostNameOf, isLoopbackHost } from "./trustedCallers.ts";

/**
 * Paths that are not checked: they need an API key, serve monitoring, or are called by senders who sign their requests. Browsers show none
 * of them as pages.
 */
const notJudged = /^\/(v1|hooks)(\/|$)|^\/(healthz|readyz|metrics)$/;

/**
 * Answers 421 to a page request whose Host is not one of the service's names. Otherwise a foreign page could point its own name at this
 * machine (DNS rebinding) and read, in a local user's browser, what needs no key. `names`: accepted in addition to those of this machine;
 * ports are ignored.
 */
export function requireKnownHost(names: readonly string[]): RequestHandler {
  const known = new Set(names.map((each) => hostNameOf(each)));
  return (request, response, next) => {
    const host = request.headers.host ?? "";
    if (notJudged.test(request.path) || isLoopbackHost(host) || known.has(hostNameOf(host) ?? "")) return next();
    return send(response, reply({ status: 421, bytes: misdirected(request), headers: pageHeaders }));
  };
}

const misdirected = ({ headers }: Request): Buffer =>
  Buffer.from(
    page({
      title: "This is not an address of this service",
      main: html`<div class="card outcome wait"><h1>This is not an address of this service</h1>
<p>This page was requested from <strong>${shortLine(headers.host ?? "", 100) || "a server without a name"}</strong>, which is not a name of this service.
If you followed a link in a mail, open it again exactly as it is in the mail.</p></div>
<p>If you run the service: people reach it at <code>PUBLIC_URL</code>. Add any other name it has to <code>ALLOWED_HOSTS</code>, and let a proxy
in front hand on <code>Host</code> unchanged.</p>`,
    }),
  );
