import type { IncomingMessage, ServerResponse } from "node:http";

/** The cookie of a session. If the service is reached by https, the browser gives it to nobody else and takes it from nobody else. */
export type SessionCookie = {
  /** The token a request brings; undefined if none, or more than one. */
  read(request: IncomingMessage): string | undefined;
  give(response: ServerResponse, token: string): void;
  clear(response: ServerResponse): void;
};

/** As long as the longest session. */
const seconds = 14 * 86_400;

export function sessionCookie({ publicUrl }: { publicUrl: string }): SessionCookie {
  const secure = publicUrl.startsWith("https:");
  const name = secure ? "__Host-countersign" : "countersign";
  // Lax: links in mail lead here. A POST of another site brings no cookie.
  const attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  return {
    read: (request) => cookieOf(request, name),
    give: (response, token) =>
      response.appendHeader("Set-Cookie", `${name}=${token}; Max-Age=${seconds}; ${attributes}`),
    clear: (response) => response.appendHeader("Set-Cookie", `${name}=; Max-Age=0; ${attributes}`),
  };
}

/** What a request brings under this name; undefined if it brings it twice, which no browser of ours does. */
export function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const given = (headers.cookie ?? "")
    .split(/; ?/)
    .filter((each) => each.startsWith(`${name}=`))
    .map((each) => each.slice(name.length + 1));
  return given.length === 1 && given[0] !== "" ? given[0] : undefined;
}
