import type { Request, Response } from "express";
import type { Session, Sessions } from "#src/platform/accounts/sessions.ts";
import type { SessionCookie } from "./cookie.ts";

/**
 * The valid session of a browser. If its token is due for rotation, the answer sets the new one. `quietly`: a script polls, which does not
 * extend the session.
 */
export async function sessionOf(
  { sessions, cookie, quietly = false }: { sessions: Sessions; cookie: SessionCookie; quietly?: boolean },
  request: Request,
  response: Response,
): Promise<Session | undefined> {
  const token = cookie.read(request);
  const found = token === undefined ? undefined : await sessions.find(token, { quietly });
  if (!found?.due) return found;
  const rotated = await sessions.rotate(found.id);
  if (rotated) cookie.give(response, rotated.token);
  // Another request has just replaced or ended the session's token: work registered under the old id would outlive the session.
  return rotated?.session ?? sessions.find(token!, { quietly });
}
