import { randomUUID } from "node:crypto";
import { userEmailHash } from "#src/commands/users/users.ts";
import type { Role } from "#streams/member/roles.ts";
import { operator } from "./cause.ts";
import type { InProcess } from "./inProcess.ts";

/** A signed-in person with a browser without script. */
export type Desk = Awaited<ReturnType<typeof deskOf>>;

export type DeskPage = {
  status: number;
  /** Target of a form's redirect. */
  location: string | null;
  headers: Headers;
  /** The page's HTML. */
  text: string;
  /** The page's visible text, with white space collapsed. */
  page: string;
};

/** Makes a user, a member of the workspace, and a session, through the service's own streams and stores. */
export async function deskOf(
  service: Pick<InProcess, "deps" | "url" | "caughtUp">,
  workspaceId: string,
  {
    role = "owner",
    email = `${role}-${randomUUID().slice(0, 8)}@people.example`,
    name = null,
  }: { role?: Role; email?: string; name?: string | null } = {},
) {
  const { deps } = service;
  const userId = deps.ids.uuid();
  const memberId = deps.ids.uuid();
  const cause = operator(workspaceId);
  await deps.users.handle(userId, { type: "RegisterUser", email, name }, cause);
  await deps.userEmails.handle(userEmailHash(email), { type: "ClaimUserEmail", userId, email }, cause);
  await deps.members.handle(workspaceId, { type: "JoinMember", memberId, userId, email, role }, cause);
  await service.caughtUp();
  const { token, session } = await deps.accounts.sessions.start({ userId, workspaceId, agent: "desk" });
  const browser = browserAt(service.url, token);
  return { ...browser, user: { id: userId, email, name, memberId }, sessionId: session.id };
}

/**
 * A browser at `url`, with a session's cookie or none: it keeps cookies and the last page's form token, follows no redirects, and runs no
 * script.
 */
export function browserAt(url: string, token?: string) {
  const cookies = new Map<string, string>(token === undefined ? [] : [["countersign", token]]);
  let formToken = "";

  async function ask(path: string, init: RequestInit): Promise<DeskPage> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const own = { Accept: "text/html", "Sec-Fetch-Site": "same-origin", ...(cookie ? { Cookie: cookie } : {}) };
    // An empty header is omitted, as by a browser that does not support it.
    const headers = Object.entries({ ...own, ...(init.headers as Record<string, string>) }).filter(
      ([, value]) => value,
    );
    const response = await fetch(new URL(path, url), { redirect: "manual", ...init, headers });
    for (const line of response.headers.getSetCookie()) keep(line);
    const text = await response.text();
    formToken = /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? formToken;
    return {
      status: response.status,
      location: response.headers.get("location"),
      headers: response.headers,
      text,
      page: wordsOf(text),
    };
  }

  function keep(line: string): void {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
    if (value === "" || /max-age=0/i.test(line)) cookies.delete(name!);
    else cookies.set(name!, value!);
  }

  return {
    cookies,
    get: (path: string, headers: Record<string, string> = {}) => ask(path, { headers }),
    /** Posts a form, with the token of the last page. A list gives a name several values. */
    post: (
      path: string,
      fields: Record<string, string | readonly string[]> = {},
      headers: Record<string, string> = {},
    ) => {
      const body = new URLSearchParams({ form_token: formToken });
      for (const [name, value] of Object.entries(fields)) {
        body.delete(name);
        for (const each of typeof value === "string" ? [value] : value) body.append(name, each);
      }
      return ask(path, { method: "POST", body, headers });
    },
  };
}

const wordsOf = (page: string): string =>
  page
    .replace(/<(script|style)[^>]*>.*?<\/\1>/gs, " ")
    .replace(/<[^>]+>/g, " ")
    .replace(/&#39;/g, "'")
    .replace(/&quot;/g, '"')
    .replace(/&lt;/g, "<")
    .replace(/&gt;/g, ">")
    .replace(/&amp;/g, "&")
    .replace(/\s+/g, " ")
    .trim();
