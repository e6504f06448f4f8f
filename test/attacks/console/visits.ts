import type { ConsoleRoute } from "#src/http/console/framework/page.ts";
import type { browserAt, DeskPage } from "#test/support/desk.ts";
import type { Tenant } from "#test/support/examples/world.ts";
import { textOf } from "#test/support/imports.ts";
import { type FormSeen, formsOf, paramsOfPage, pathOfPage, realPages } from "./pages.ts";
import { nothing } from "./routes.ts";

type Browser = ReturnType<typeof browserAt>;

export const pages: readonly ConsoleRoute[] = realPages().filter(({ method }) => method === "GET");
export const forms: readonly ConsoleRoute[] = realPages().filter(({ method }) => method === "POST");

/** The pages at the door, which need nobody to be signed in, as src/http/auth/pageRouter.ts has them. */
export const doors: readonly string[] = [
  ...textOf("src/http/auth/pageRouter.ts").matchAll(/\bat\("(\/[\w-]+(\/:token)?)"/g),
].map(([, path = ""]) => path.replace(":token", "x".repeat(43)));

/** Whether a page's path names a file to be kept, not to be looked at. */
export const isFile = (path: string): boolean => /\/(raw|attachments\/:\w+)$/.test(path);

export const isHtml = ({ headers }: DeskPage): boolean => (headers.get("content-type") ?? "").startsWith("text/html");

/** What is wrong with a file that a page offers: strangers made it, so a browser is to keep it and open nothing. */
export function fileFaults({ headers }: DeskPage): string[] {
  return [
    ...(headers.get("x-content-type-options") === "nosniff" ? [] : ["a browser may guess what it is"]),
    ...(/^attachment/.test(headers.get("content-disposition") ?? "") ||
    /^text\/plain/.test(headers.get("content-type") ?? "")
      ? []
      : ["it is opened in the browser"]),
    ...(/\b(no-store|private)\b/.test(headers.get("cache-control") ?? "") ? [] : ["others may keep it"]),
  ];
}

/** An answer without what differs from one to the next: ids that were asked for, tokens. */
export const shapeOf = ({ status, location, text }: DeskPage, id: string): string =>
  JSON.stringify([
    status,
    location?.replaceAll(id, "ID"),
    text.replaceAll(id, "ID").replace(/(name="(form_token|once)" value=")[^"]*/g, "$1"),
  ]);

/** The ids of each page with ids, given in turn: another workspace's, and those of nothing in the same place. */
export const foreignPaths = (
  path: string,
  own: Tenant,
  other: Tenant,
): { foreign: string; missing: string; id: string }[] =>
  paramsOfPage(path).map(({ name, noun }) => {
    const id = other.ids[noun] as string;
    return { id, foreign: pathOfPage(path, own, { [name]: id }), missing: pathOfPage(path, own, { [name]: nothing }) };
  });

/** Whether a form on a page leads to this route. */
export const leadsTo = ({ path }: ConsoleRoute, action: string): boolean =>
  new RegExp(`^${path.replace(/:\w+/g, "[^/]+")}$`).test(action.split("?")[0] as string);

/** The forms of all pages that a person is shown, by the route each leads to. One that no page offers stands with no fields. */
export async function formsOffered(browser: Browser, tenant: Tenant): Promise<Map<ConsoleRoute, FormSeen>> {
  const found = new Map<ConsoleRoute, FormSeen>();
  for (const { path } of pages) {
    const seen = await browser.get(pathOfPage(path, tenant));
    if (!isHtml(seen)) continue;
    for (const form of formsOf(seen.text)) {
      const route = form.method === "post" && forms.find((each) => leadsTo(each, form.action));
      if (route && !found.has(route)) found.set(route, form);
    }
  }
  return found;
}

/** What a form holds, without what shows that it is one of ours. */
export function fieldsOf(form: FormSeen | undefined): Record<string, string[]> {
  const fields: Record<string, string[]> = {};
  for (const [name, value] of form?.fields ?? []) {
    if (name !== "form_token") fields[name] = [...(fields[name] ?? []), value];
  }
  return fields;
}
