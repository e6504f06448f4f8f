import type { InProcess } from "./inProcess.ts";
import { until } from "./inProcess.ts";

/** A response as a browser sees it. */
export type DoorResponse = {
  status: number;
  /** Target of its redirect. */
  location: string | null;
  headers: Headers;
  text: string;
  /** The JSON of a response; undefined for a page. */
  body: any;
};

/**
 * A browser that signs in, or a program that keeps cookies: `json` sends requests as a program does, `form` as a page of the service,
 * `get` requests a page.
 */
export function atTheDoor(url: string, { cookie: planted }: { cookie?: string } = {}) {
  let cookie = planted;

  async function ask(path: string, init: RequestInit): Promise<DoorResponse> {
    const headers = { ...(cookie === undefined ? {} : { cookie }), ...(init.headers as Record<string, string>) };
    const response = await fetch(`${url}${path}`, { redirect: "manual", ...init, headers });
    for (const given of response.headers.getSetCookie()) {
      const pair = given.split(";")[0]!;
      cookie = pair.endsWith("=") ? undefined : pair;
    }
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    const { status, headers: answered } = response;
    return {
      status,
      location: answered.get("location"),
      headers: answered,
      text,
      body: isJson ? JSON.parse(text) : undefined,
    };
  }

  return {
    json: (path: string, body: unknown = {}, headers: Record<string, string> = {}) =>
      ask(path, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "Content-Type": "application/json", ...headers },
      }),
    form: (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
      ask(path, {
        method: "POST",
        body: new URLSearchParams(fields).toString(),
        headers: {
          "Content-Type": "application/x-www-form-urlencoded",
          "Sec-Fetch-Site": "same-origin",
          Accept: "text/html",
          ...headers,
        },
      }),
    get: (path: string, headers: Record<string, string> = {}) =>
      ask(path, { headers: { Accept: "text/html", ...headers } }),
    /** The session's cookie, as it would be sent. */
    cookie: () => cookie,
  };
}

export type AtTheDoor = ReturnType<typeof atTheDoor>;

/** The mails sent to an address, the newest first. */
export const mailsTo = async ({ outbox }: Pick<InProcess, "outbox">, address: string) =>
  (await outbox.newest(500)).filter(({ envelope }) => envelope.to.includes(address));

/** Waits until `count` mails to the address have a link to this page, and returns the token of the newest. */
export async function mailedToken(
  service: Pick<InProcess, "outbox">,
  { address, page, mails = 1 }: { address: string; page: string; mails?: number },
): Promise<string> {
  const link = new RegExp(`(\\S+)/${page}/([\\w-]{43})`);
  const tokens = async () =>
    (await mailsTo(service, address)).flatMap(({ text }) => link.exec(text)?.slice(1, 3).join(" ") ?? []);
  await until(async () => (await tokens()).length >= mails);
  return (await tokens())[0]!.split(" ")[1]!;
}

/** A password that no one would guess. */
export const goodPassword = "seventeen herons over the quay";

/** Makes a user with an account and a workspace, signed in. */
export async function newUser(
  service: InProcess,
  { email, password = goodPassword }: { email: string; password?: string },
) {
  const door = atTheDoor(service.url);
  await door.json("/auth/sign-up", { email });
  const token = await mailedToken(service, { address: email, page: "confirm" });
  const { status, body } = await door.json("/auth/confirm", { token, password });
  if (status !== 201) throw new Error(`no account for ${email}: ${status} ${JSON.stringify(body)}`);
  return { door, user: body.user as { id: string; email: string }, workspaceId: body.workspace_id as string };
}
