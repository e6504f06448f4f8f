import { Parser } from "htmlparser2";
import { faultsOf } from "../words/hostile.ts";

/**
 * Checks of every console page, whatever strangers wrote into it. Each function returns sentences about faults; an empty
 * list means that the page is in order.
 */

const list = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/));

/** The elements that console pages may have. A new one has to be added here on purpose. */
const ourElements =
  list(`html head meta title link script body header nav main footer aside section article div span p h1 h2 h3 h4 ul ol li dl dt dd
  a strong b em i small code pre kbd samp q blockquote del ins mark bdi abbr time br hr wbr sub sup table caption thead tbody tr th td colgroup col
  form fieldset legend label input textarea select option optgroup button output details summary iframe figure figcaption img progress meter
  dialog template`);

const ourAttributes =
  list(`id class lang dir title hidden role tabindex href rel target type src alt width height name content charset http-equiv media
  action method enctype novalidate autocomplete value placeholder required disabled readonly checked selected multiple size minlength maxlength min max
  step pattern inputmode accept rows cols wrap for form open datetime cite colspan rowspan scope headers sandbox srcdoc loading download defer async
  crossorigin integrity autofocus spellcheck autocapitalize start reversed label formaction formmethod formnovalidate accesskey enterkeyhint
  translate referrerpolicy list span`);

/** Checks attributes by their prefix. Of htmx's attributes only hx-on, and hx-vals and hx-headers with js:, run code. */
const isOurs = (name: string): boolean =>
  ourAttributes.has(name) || /^(aria-[a-z]+|data-[a-z-]+|hx-(?!on)[a-z-]+)$/.test(name);

/** Attributes with addresses that a browser opens or fetches. */
const addresses = list(
  "href src action formaction hx-get hx-post hx-put hx-patch hx-delete hx-push-url hx-replace-url cite",
);

/** True for a path of the console, a fragment, a mail or telephone link, or an inline picture. */
const isOwnAddress = (address: string): boolean =>
  /^(\/(?![/\\])|[?#]|$)/.test(address) ||
  /^(mailto|tel):/i.test(address) ||
  /^data:image\/(png|jpeg|gif|webp);base64,/.test(address);

export type PageOptions = {
  /** Addresses on other hosts that the page may link to, such as the payment page. */
  leadsTo?: RegExp;
};

/** Returns the faults of a console page as it was sent. */
export function pageFaults(page: string, { leadsTo }: PageOptions = {}): string[] {
  const faults = faultsOf({ kind: "html", content: page });
  const ids = new Set<string>();
  const forms: { action: string; method: string; fields: Set<string> }[] = [];
  const open: string[] = [];
  let h1 = 0;
  let title = "";
  const parser = new Parser({
    onopentag(name, attributes) {
      open.push(name);
      if (!ourElements.has(name)) faults.push(`<${name}> is no element of ours`);
      if (name === "h1") h1 += 1;
      if (name === "form")
        forms.push({ action: attributes.action ?? "", method: attributes.method ?? "get", fields: new Set() });
      if (attributes.name !== undefined && /^(input|button|select|textarea)$/.test(name))
        forms.at(-1)?.fields.add(attributes.name);
      if (attributes.id !== undefined && ids.size === ids.add(attributes.id).size)
        faults.push(`the id ${attributes.id} is there twice`);
      faults.push(...elementFaults(name, attributes, leadsTo));
    },
    ontext(text) {
      if (open.at(-1) === "title") title += text;
      if (open.includes("script") && text.trim() !== "") faults.push(`a script in the page: ${text.slice(0, 60)}`);
    },
    onclosetag: () => void open.pop(),
  });
  parser.end(page);
  if (h1 !== 1) faults.push(`${h1} headings of the first rank`);
  if (title.trim() === "") faults.push("no title");
  for (const { action, method, fields } of forms) {
    if (method.toLowerCase() === "post" && ![...fields].some((name) => /token/i.test(name)))
      faults.push(`the form to ${action} has no token`);
  }
  return faults;
}

function elementFaults(name: string, attributes: Record<string, string>, leadsTo: RegExp | undefined): string[] {
  const faults: string[] = [];
  for (const [attribute, value] of Object.entries(attributes)) {
    const said = `<${name} ${attribute}="${value.slice(0, 80)}">`;
    if (!isOurs(attribute)) faults.push(`${said} is no attribute of ours`);
    if (addresses.has(attribute) && !isOwnAddress(value) && !(name === "a" && leadsTo?.test(value)))
      faults.push(`${said} leads elsewhere`);
    if (/^hx-(vals|headers|vars)$/.test(attribute) && /^\s*js(on)?:/i.test(value)) faults.push(`${said} is code`);
  }
  if (name === "script" && attributes.src === undefined) faults.push("a script in the page");
  if (name === "iframe") {
    if (attributes.sandbox !== "") faults.push(`a frame with sandbox=${JSON.stringify(attributes.sandbox)}`);
    faults.push(...frameFaults(attributes.srcdoc ?? ""));
  }
  if (name === "a" && attributes.target === "_blank" && !/noopener/.test(attributes.rel ?? ""))
    faults.push("a link into a new window that can reach back");
  return faults;
}

/** Returns the faults of a frame's content, which is strangers' HTML after sanitising: it may not run, submit or load anything. */
function frameFaults(framed: string): string[] {
  const faults: string[] = [];
  const parser = new Parser({
    onopentag(name, attributes) {
      if (/^(script|iframe|object|embed|form|input|button|base|link|svg|math)$/.test(name))
        faults.push(`<${name}> in a frame`);
      if (name === "meta" && attributes["http-equiv"]?.toLowerCase() === "refresh") faults.push("a refresh in a frame");
      for (const [attribute, value] of Object.entries(attributes)) {
        if (attribute.startsWith("on")) faults.push(`<${name} ${attribute}> in a frame`);
        if (/^(src|background|poster|srcset)$/.test(attribute) && !/^data:image\//.test(value))
          faults.push(`<${name} ${attribute}="${value.slice(0, 60)}"> in a frame`);
      }
    },
  });
  parser.end(framed);
  return faults;
}

/** Returns a policy's sources by directive. */
const directivesOf = (policy: string): Map<string, string[]> =>
  new Map(
    policy
      .split(";")
      .map((directive) => directive.trim().split(/\s+/))
      .map(([name = "", ...sources]) => [name, sources]),
  );

/** True for a source that a directive may name: none, the service itself, or a text by its hash. */
const isStrict = (source: string): boolean => /^'(none|self|sha(256|384|512)-[\w+/=]+)'$/.test(source);

/** Returns the faults of the headers of a console page. */
export function headerFaults(headers: Headers): string[] {
  const faults: string[] = [];
  const directives = directivesOf(headers.get("content-security-policy") ?? "");
  for (const [name, only] of Object.entries({
    "default-src": /^'(none|self)'$/,
    "frame-ancestors": /^'none'$/,
    "base-uri": /^'none'$/,
    "form-action": /^'self'$/,
  })) {
    const given = directives.get(name)?.join(" ") ?? "";
    if (!only.test(given)) faults.push(`policy: ${name} is ${given || "missing"}`);
  }
  for (const name of ["script-src", "style-src", "connect-src", "frame-src", "font-src", "object-src", "default-src"]) {
    const loose = (directives.get(name) ?? []).filter((source) => !isStrict(source));
    if (loose.length > 0) faults.push(`policy: ${name} allows ${loose.join(" ")}`);
  }
  const loosePictures = (directives.get("img-src") ?? []).filter((source) => !isStrict(source) && source !== "data:");
  if (loosePictures.length > 0) faults.push(`policy: img-src allows ${loosePictures.join(" ")}`);
  for (const [name, expected] of Object.entries({
    "cache-control": /\bno-store\b/,
    "x-content-type-options": /^nosniff$/,
    "x-frame-options": /^DENY$/i,
    "referrer-policy": /^same-origin$/,
    "cross-origin-opener-policy": /^same-origin$/,
    "x-robots-tag": /\bnoindex\b/,
  })) {
    const given = headers.get(name);
    if (!expected.test(given ?? "")) faults.push(`${name} is ${given ?? "missing"}`);
  }
  if (headers.has("x-powered-by") || headers.has("access-control-allow-origin"))
    faults.push("a header that has no place on a page");
  return faults;
}

/** Returns the faults of an answer's cookies. `https`: the service is reached by HTTPS. */
export function cookieFaults(headers: Headers, { https }: { https: boolean }): string[] {
  return headers.getSetCookie().flatMap((cookie) => {
    const [pair = "", ...attributes] = cookie.split(/;\s*/);
    const name = pair.slice(0, pair.indexOf("="));
    const has = (attribute: RegExp) => attributes.some((each) => attribute.test(each));
    return [
      ...(has(/^HttpOnly$/i) ? [] : ["can be read by scripts"]),
      ...(has(/^SameSite=(Lax|Strict)$/i) ? [] : ["has no SameSite"]),
      ...(has(/^Path=\/$/i) ? [] : ["is not for the whole site"]),
      ...(has(/^Domain=/i) ? ["has a domain"] : []),
      ...(https && !has(/^Secure$/i) ? ["is sent over plain HTTP"] : []),
      ...(https && !name.startsWith("__Host-") ? ["has no __Host- prefix"] : []),
    ].map((fault) => `the cookie ${name} ${fault}`);
  });
}
