import type { IncomingMessage, ServerResponse } from "node:http";

/** The session cookie. Over https it has the `__Host-` prefix: browsers send it only to this host and accept it only from this host. */
export type SessionCookie = {
  /** The token in a request; undefined if there is none, or more than one. */
  read(request: IncomingMessage): string | undefined;
  give(response: ServerResponse, token: string): void;
  clear(response: ServerResponse): void;
};

/** Seconds; the longest lifetime of a session. */
const seconds = 14 * 86_400;

export function sessionCookie({ publicUrl }: { publicUrl: string }): SessionCookie {
  const secure = publicUrl.startsWith("https:");
  const name = secure ? "__Host-countersign" : "countersign";
  // Lax, because links in mails lead here. POST requests from other sites carry no cookie.
  const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  return {
    read: (request) => cookieOf(request, name),
    give: (response, token) =>
      response.appendHeader("Set-Cookie", `${name}=${token}; Max-Age=${seconds}; ${attributes}`),
    clear: (response) => response.appendHeader("Set-Cookie", `${name}=; Max-Age=0; ${attributes}`),
  };
}

/** The value of a cookie; undefined if it is absent or sent twice, which browsers do not do with the service's cookies. */
export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const given = (headers.cookie ?? "")
    .split(/; ?/)
    .filter((each) => each.startsWith(`${name}=`))
    .map((each) => each.slice(name.length + 1));
  return given.length === 1 && given[0] !== "" ? given[0] : undefined;
}
