import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { BACKWARDS, END, type EventStoreDBClient, jsonEvent, StreamNotFoundError } from "@eventstore/db-client";
import { connect } from "./connection.ts";

/** Management of the users of an EventStoreDB, as an administrator. */
export type Users = {
  /** Creates a user; false if the name is taken. */
  create(name: string, password: string): Promise<boolean>;
  setPassword(name: string, password: string): Promise<void>;
};

/** Result: the service's user, whether it was created or only got its password, and whether its rights were set. */
export type PreparedServiceUser = { user: string; created: boolean; rights: "set" | "already so" };

/**
 * Creates the user that `serviceUrl` names, with its password, or sets its password. Then only administrators and this user may append to
 * streams and read them; only administrators may delete or truncate streams or change their metadata; the user may read the whole log.
 * Repeating it changes nothing. `adminUrl`: the same server, with the user and the password of an administrator. Throws a sentence without
 * secrets.
 */
export async function prepareServiceUser(
  { adminUrl, serviceUrl }: { adminUrl: string; serviceUrl: string },
  users: Users = usersOverHttp(adminUrl),
): Promise<PreparedServiceUser> {
  const { username: user, password } = namedIn(serviceUrl, "EVENT_STORE_URL");
  if (/^(admin|ops)$/i.test(user))
    throw new Error(`"${user}" is a user of the server's own: name another one in EVENT_STORE_URL`);
  const admin = { client: connect(adminUrl), credentials: namedIn(adminUrl, "EVENT_STORE_ADMIN_URL") };
  try {
    const created = await users.create(user, password);
    if (!created) await users.setPassword(user, password);
    const changed = [await setDefaultAcl(admin, user), await grantWholeLog(admin, user)];
    return { user, created, rights: changed.includes(true) ? "set" : "already so" };
  } finally {
    await admin.client.dispose();
  }
}

type Admin = { client: EventStoreDBClient; credentials: { username: string; password: string } };

const administrators = "$admins";

/** Sets the default rights of streams without rights of their own, as are all of the service's. True if they were changed. */
async function setDefaultAcl({ client, credentials }: Admin, user: string): Promise<boolean> {
  const both = [administrators, user];
  const data = {
    $userStreamAcl: { $r: both, $w: both, $d: administrators, $mr: both, $mw: administrators },
    $systemStreamAcl: {
      ...{ $r: administrators, $w: administrators, $d: administrators },
      ...{ $mr: administrators, $mw: administrators },
    },
  };
  const last = await lastOf(client, "$settings", credentials);
  if (isSame(last, data)) return false;
  await client.appendToStream("$settings", jsonEvent({ type: "update-default-acl", data }), { credentials });
  return true;
}

/** Grants reading the log as a whole, otherwise reserved to administrators. True if it was changed. */
async function grantWholeLog({ client, credentials }: Admin, user: string): Promise<boolean> {
  const data = { $acl: { $r: [administrators, user] } };
  const last = await lastOf(client, "$$$all", credentials);
  if (isSame(last, data)) return false;
  await client.appendToStream("$$$all", jsonEvent({ type: "$metadata", data }), { credentials });
  return true;
}

async function lastOf(client: EventStoreDBClient, stream: string, credentials: Admin["credentials"]): Promise<unknown> {
  let last: unknown;
  try {
    const read = client.readStream(stream, { direction: BACKWARDS, fromRevision: END, maxCount: 1, credentials });
    for await (const { event } of read) last = event?.data;
  } catch (error) {
    if (!(error instanceof StreamNotFoundError)) throw error;
  }
  return last;
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

function namedIn(url: string, setting: string): Admin["credentials"] {
  const [, username, password] = /^[^:]+:\/\/([^:@/]+):([^@]+)@/.exec(url.trim()) ?? [];
  if (!username || !password) throw new Error(`${setting} needs user:password@ before the host`);
  return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
}

/** Manages users through the server's HTTP interface, on the port of the log. */
export function usersOverHttp(adminUrl: string): Users {
  const [, at = "", query = ""] = /@([^/?]+)\/?(?:\?(.*))?$/.exec(adminUrl.trim()) ?? [];
  const parameters = new Map([...new URLSearchParams(query)].map(([name, value]) => [name.toLowerCase(), value]));
  const insecure = parameters.get("tls")?.toLowerCase() === "false";
  const caFile = parameters.get("tlscafile");
  const { username, password } = namedIn(adminUrl, "EVENT_STORE_ADMIN_URL");
  const headers = {
    authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`,
    "content-type": "application/json",
  };

  function post(path: string, body: object): Promise<number> {
    const url = `${insecure ? "http" : "https"}://${at.split(",")[0]}${path}`;
    const options = { method: "POST", headers, timeout: 10_000, ...(caFile && { ca: readFileSync(caFile) }) };
    return new Promise((resolve, reject) => {
      const request = (insecure ? httpRequest : httpsRequest)(url, options, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.on("timeout", () => request.destroy(new Error(`${at} does not answer`)));
      request.on("error", reject);
      request.end(JSON.stringify(body));
    });
  }

  const refused = (what: string, status: number): Error => new Error(`EventStoreDB answers ${status} to ${what}`);
  return {
    async create(loginName, newPassword) {
      const user = { loginName, fullName: "Countersign", password: newPassword, groups: [] };
      const status = await post("/users/", user);
      if (status === 201 || status === 409) return status === 201;
      throw refused("the creation of a user", status);
    },
    async setPassword(name, newPassword) {
      const status = await post(`/users/${encodeURIComponent(name)}/command/reset-password`, { newPassword });
      if (status !== 200) throw refused("the change of a password", status);
    },
  };
}
