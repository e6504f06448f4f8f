import { Parser } from "htmlparser2";
import type { ConsoleRoute } from "#src/http/console/framework/page.ts";
import { consolePages, developmentPages } from "#src/http/console/index.ts";
import type { Tenant } from "#test/support/examples/world.ts";

/** Stands for every dependency, because no page is requested here. */
const nobody: any = new Proxy(() => nobody, { get: (_, name) => (name === "then" ? undefined : nobody) });

/** Returns every declared page and form of the console except the event stream, which never ends. */
export const realPages = (): ConsoleRoute[] =>
  [...consolePages(nobody), ...developmentPages()].filter(({ path }) => path !== "/console/events");

const here = "test/attacks/console/pages.ts";

/** The API's noun for the id after a path segment, where the segment is named differently. */
const nouns: Record<string, string> = {
  keys: "api-keys",
  tests: "test notifications",
  review: "drafts",
};

/** Parameters that are no ids, with a value that always exists. */
const others: Record<string, string> = {
  version: "1",
  n: "1",
};

/** Pages that exist only for some things of their noun. */
const ofSome: Record<string, string> = {
  "/review/:id/attachments/:n": "drafts with files",
  "/drafts/:id/mail": "sent drafts",
};

/** Returns the ids in a page's path, in order. */
export const paramsOfPage = (path: string): { name: string; noun: string }[] =>
  [...path.matchAll(/\/([\w-]+)\/:(\w+)/g)]
    .map(([, segment = "", name = ""]) => ({ name, noun: ofSome[path] ?? nouns[segment] ?? segment }))
    .filter(({ name }) => others[name] === undefined);

/** Returns the path with a tenant's ids, except for parameters given in `given`. */
export function pathOfPage(path: string, { ids }: Pick<Tenant, "ids">, given: Record<string, string> = {}): string {
  const filled = Object.entries(others).reduce(
    (line, [name, value]) => line.replace(new RegExp(`:${name}\\b`), value),
    path,
  );
  return paramsOfPage(path).reduce((line, { name, noun }) => {
    const id = given[name] ?? ids[noun];
    if (id === undefined) throw new Error(`${path}: say in ${here} whose id :${name} is`);
    return line.replace(new RegExp(`:${name}\\b`), id);
  }, filled);
}

export type FormSeen = { action: string; method: string; fields: [string, string][] };

/** Returns the forms of a page with the fields that a browser would send for the first button. */
export function formsOf(page: string): FormSeen[] {
  const forms: FormSeen[] = [];
  let open: FormSeen | undefined;
  let pressed = false;
  let select: { name: string; value: string | undefined } | undefined;
  let textarea: { name: string; text: string } | undefined;
  const parser = new Parser({
    onopentag(tag, { action = "", method = "get", name, value, type, checked, selected }) {
      if (tag === "form") {
        open = { action, method: method.toLowerCase(), fields: [] };
        forms.push(open);
        pressed = false;
      }
      if (!open) return;
      if (tag === "input" && name !== undefined && (!/^(checkbox|radio)$/.test(type ?? "") || checked !== undefined))
        open.fields.push([name, value ?? ""]);
      if (tag === "button" && name !== undefined && type !== "button" && !pressed) {
        pressed = true;
        open.fields.push([name, value ?? ""]);
      }
      if (tag === "select" && name !== undefined) select = { name, value: undefined };
      if (tag === "option" && select && (select.value === undefined || selected !== undefined))
        select.value = value ?? "";
      if (tag === "textarea" && name !== undefined) textarea = { name, text: "" };
    },
    ontext(text) {
      if (textarea) textarea.text += text;
    },
    onclosetag(tag) {
      if (tag === "select" && select && open) open.fields.push([select.name, select.value ?? ""]);
      if (tag === "select") select = undefined;
      if (tag === "textarea" && textarea && open) open.fields.push([textarea.name, textarea.text.replace(/^\n/, "")]);
      if (tag === "textarea") textarea = undefined;
      if (tag === "form") open = undefined;
    },
  });
  parser.end(page);
  return forms;
}

/** The scopes of which one is needed to cause an event, by the stream's category; null: everybody may, about themselves. */
const rightsTo: Record<string, string[] | null> = {
  user: null,
  userEmail: null,
  workspace: ["write:workspace"],
  member: ["write:members"],
  apiKey: ["write:keys"],
  identity: ["write:identities"],
  emailAddress: ["write:identities"],
  channelTest: ["write:identities"],
  domain: ["write:domains"],
  domainName: ["write:domains"],
  rule: ["write:rules"],
  ruleRun: ["write:rules"],
  contact: ["write:contacts"],
  assistant: ["write:assistants"],
  webhook: ["write:webhooks"],
  billing: ["write:billing"],
  draft: ["write:drafts", "write:emails"],
  delivery: ["write:drafts", "write:emails"],
  quota: ["write:drafts", "write:emails"],
  thread: ["write:drafts", "write:emails"],
  filing: ["write:drafts"],
  slots: ["write:keys", "write:identities", "write:rules", "write:webhooks", "write:domains"],
};

/** True if a person with these scopes may cause an event of this stream. */
export function mayCause(stream: string, scopes: readonly string[]): boolean {
  const category = stream.slice(0, stream.indexOf("-"));
  const needed = rightsTo[category];
  if (needed === undefined) throw new Error(`${category}: say in ${here} (rightsTo) who may cause its events`);
  return needed === null || needed.some((scope) => scopes.includes(scope));
}
