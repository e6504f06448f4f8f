import type { ServerResponse } from "node:http";
import type { Request } from "express";
import type { Session, Sessions } from "#src/accounts/sessions.ts";
import type { SessionCookie } from "./cookie.ts";

/**
 * The session a request comes with; undefined if none that lives. Where its token is due to be replaced, the answer brings the new one. Of requests that
 * come together the first gets it: the others go on in the same session, under the id that it has by now, so that its end reaches them too.
 */
export async function currentSession(
  request: Request,
  response: ServerResponse,
  { sessions, cookie }: { sessions: Sessions; cookie: SessionCookie },
): Promise<Session | undefined> {
  const token = cookie.read(request);
  const found = token === undefined ? undefined : await sessions.find(token);
  if (token === undefined || !found?.due) return found;
  const rotated = await sessions.rotate(found.id);
  if (!rotated) return sessions.find(token);
  cookie.give(response, rotated.token);
  return rotated.session;
}
