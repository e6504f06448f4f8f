import type { Request, Response } from "express";
import type { Session, Sessions } from "#src/platform/accounts/sessions.ts";
import type { SessionCookie } from "./cookie.ts";

/**
 * The living session a browser comes with. If its token is due to be replaced, the answer brings the new one. `quietly`: a script asks, which
 * keeps nobody signed in.
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
  // Another request replaced its token a moment ago, or ended it: what runs under the former id would outlive the session.
  return rotated?.session ?? sessions.find(token!, { quietly });
}
