import type { ConsoleRoute } from "#src/http/console/framework/page.ts";
import type { browserAt, DeskPage } from "#test/support/desk.ts";
import type { Tenant } from "#test/support/examples/world.ts";
import { textOf } from "#test/support/imports.ts";
import { type FormSeen, formsOf, paramsOfPage, pathOfPage, realPages } from "./pages.ts";
import { nothing } from "./routes.ts";

type Browser = ReturnType<typeof browserAt>;

export const pages: readonly ConsoleRoute[] = realPages().filter(({ method }) => method === "GET");
export const forms: readonly ConsoleRoute[] = realPages().filter(({ method }) => method === "POST");

/** The pages that need no sign-in, read from src/http/auth/pageRouter.ts. */
export const doors: readonly string[] = [
  ...textOf("src/http/auth/pageRouter.ts").matchAll(/\bat\("(\/[\w-]+(\/:token)?)"/g),
].map(([, path = ""]) => path.replace(":token", "x".repeat(43)));

/** True if a page's path is a download. */
export const isFile = (path: string): boolean => /\/(raw|evidence|file|attachments\/:\w+)$/.test(path);

export const isHtml = ({ headers }: DeskPage): boolean => (headers.get("content-type") ?? "").startsWith("text/html");

/** Returns the faults of a download: strangers made the file, so a browser must save it and not open it. */
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

/** Returns an answer without the requested id and the tokens, so that answers can be compared. */
export const shapeOf = ({ status, location, text }: DeskPage, id: string): string =>
  JSON.stringify([
    status,
    location?.replaceAll(id, "ID"),
    text.replaceAll(id, "ID").replace(/(name="(form_token|once)" value=")[^"]*/g, "$1"),
  ]);

/** Returns the page's path with each id replaced in turn by another workspace's and by a missing one. */
export const foreignPaths = (
  path: string,
  own: Tenant,
  other: Tenant,
): { foreign: string; missing: string; id: string }[] =>
  paramsOfPage(path).map(({ name, noun }) => {
    const id = other.ids[noun] as string;
    return { id, foreign: pathOfPage(path, own, { [name]: id }), missing: pathOfPage(path, own, { [name]: nothing }) };
  });

/** True if a form's action is this route. */
export const leadsTo = ({ path }: ConsoleRoute, action: string): boolean =>
  new RegExp(`^${path.replace(/:\w+/g, "[^/]+")}$`).test(action.split("?")[0] as string);

/** Returns the forms of all pages that a person is shown, by route. */
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

/** Returns a form's fields without its token. */
export function fieldsOf(form: FormSeen | undefined): Record<string, string[]> {
  const fields: Record<string, string[]> = {};
  for (const [name, value] of form?.fields ?? []) {
    if (name !== "form_token") fields[name] = [...(fields[name] ?? []), value];
  }
  return fields;
}
