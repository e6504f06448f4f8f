import { hostileBodies, type Operation, planted } from "#test/support/hostileRequests.ts";
import type { Random } from "../support/random.ts";
import { type IdFor, outlandish, sql, valid } from "./requestValues.ts";

/** One request as it is sent: headers as a flat list, so that one can occur twice. */
export type MadeRequest = {
  kind: "valid" | "field" | "query" | "path" | "headers" | "syntax" | "nowhere";
  operation: Operation | undefined;
  method: string;
  url: string;
  headers: string[];
  body: string | undefined;
  /** The body's end comes late, or never. */
  slow?: "late" | "never";
  /** True if the headers alone may be refused, before a route is chosen. */
  beforeRouting?: true;
};

/** Source of a request's key and ids. */
export type RequestPool = { key: string; idFor: IdFor; pathOf: (path: string, forDelete: boolean) => string };

/** Makes the request of this number: its kind, operation and values are random. */
export function makeRequest(operations: readonly Operation[], random: Random, pool: RequestPool): MadeRequest {
  const operation = random.pick(operations);
  const plain = start(operation, random, pool);
  const dice = random.below(100);
  if (dice < 35) return plain;
  if (dice < 70) return withHostileField(plain, operation, random);
  if (dice < 80) return withHostileQuery(plain, operation, random);
  if (dice < 85) return { ...plain, kind: "path", url: hostilePath(operation, random) };
  if (dice < 92) return withHostileHeaders(plain, random);
  if (dice < 98) return withHostileSyntax(plain, random);
  return { ...plain, kind: "nowhere", operation: undefined, ...nowhere(random) };
}

/** Makes a request that follows the document: a valid body, ids that exist, a part of the query. */
function start(operation: Operation, random: Random, { key, idFor, pathOf }: RequestPool): MadeRequest {
  const { method, path, parameters } = operation;
  const query = parameters.filter((each) => each.in === "query" && (each.required || random.chance(0.2)));
  const search = query.map(
    ({ name, schema }) => `${name}=${encodeURIComponent(String(valid(schema, { random, idFor, name })))}`,
  );
  const body = operation.body && (random.chance(0.97) ? valid(operation.body, { random, idFor }) : {});
  return {
    kind: "valid",
    operation,
    method,
    url: pathOf(path, method === "DELETE") + (search.length > 0 ? `?${search.join("&")}` : ""),
    headers: [
      ...["Authorization", `Bearer ${key}`],
      ...(body ? ["Content-Type", "application/json"] : []),
      ...(operation.parameters.some(({ name }) => name === "Idempotency-Key") && random.chance(0.2)
        ? ["Idempotency-Key", `${random.below(500)}`]
        : []),
    ],
    body: body ? JSON.stringify(body) : undefined,
  };
}

/** Puts a value into one field that violates its schema, or that no field should accept. */
function withHostileField(made: MadeRequest, { body }: Operation, random: Random): MadeRequest {
  const hostile = random.pick(hostileBodies(body ?? {}));
  const value = random.chance(0.6) ? hostile.value : outlandish(random);
  return {
    ...made,
    kind: "field",
    headers: made.body === undefined ? [...made.headers, "Content-Type", "application/json"] : made.headers,
    body: JSON.stringify(planted(JSON.parse(made.body ?? "{}"), { ...hostile, value })),
  };
}

function withHostileQuery(made: MadeRequest, { parameters }: Operation, random: Random): MadeRequest {
  const names = [...parameters.filter((each) => each.in === "query").map(({ name }) => name), "unknown", "__proto__"];
  const name = random.pick(names);
  const values = ["", "%00", "%ed%a0%80", "-1", "1e9", "9".repeat(30), "null", "%27", "%0d%0a", "true", "[]", "101"];
  const value = random.chance(0.4) ? encodeURIComponent(random.pick(sql)) : random.pick(values);
  const pair = random.pick([`${name}=${value}`, `${name}=${value}&${name}=1`, `${name}[]=1`, `${name}`, "&&=&"]);
  return { ...made, kind: "query", url: `${made.url}${made.url.includes("?") ? "&" : "?"}${pair}` };
}

function hostilePath({ path }: Operation, random: Random): string {
  const odd = [
    "x",
    "%00",
    "%2e%2e",
    "..%2f..",
    "%ff",
    encodeURIComponent(random.pick(sql)),
    "0".repeat(5000),
    "null",
    "*",
  ];
  return path.replaceAll(/\{\w+\}/g, () => random.pick(odd));
}

function withHostileHeaders(made: MadeRequest, random: Random): MadeRequest {
  const { headers } = made;
  const more = random.pick<() => Partial<MadeRequest>>([
    () => ({ headers: [...headers, "Authorization", "Bearer svc_live_x"] }),
    () => ({ headers: ["Authorization", `Basic ${"x".repeat(100)}`] }),
    () => ({ headers: [] }),
    () => ({
      headers: [...headers, "If-Match", random.pick(['"999999999999"', '"1", "2"', "W/1", "x".repeat(5000), '""'])],
    }),
    () => ({ headers: [...headers, "Idempotency-Key", random.pick(["k".repeat(256), "a\tb", " ", "' OR 1=1 --"])] }),
    () => ({ headers: [...headers, "Idempotency-Key", "a", "Idempotency-Key", "b"] }),
    () => ({ headers: [...headers, "X-Request-Id", random.pick(["a b", "<x>", "y".repeat(3000)])] }),
    () => ({ headers: [...headers, "X-Big", "z".repeat(20_000)], beforeRouting: true }),
    () => ({
      headers: [...headers, ...Array.from({ length: 1500 }, (_, n) => `X-${n}`).flatMap((name) => [name, "1"])],
      beforeRouting: true,
    }),
    () => ({ headers: [...headers, "Content-Type", "application/json", "Content-Type", "text/plain"] }),
    () => ({ headers: [...headers, "Content-Encoding", "gzip"] }),
    () => ({ headers: [...headers, "X-HTTP-Method-Override", "DELETE", "X-Forwarded-For", "127.0.0.1' OR 1=1 --"] }),
    () => ({ headers: [...headers, "Accept", "text/html", "Range", "bytes=0-1", "If-None-Match", "*"] }),
  ])();
  return { ...made, kind: "headers", ...more };
}

function withHostileSyntax(made: MadeRequest, random: Random): MadeRequest {
  const body = made.body ?? '{"a":1}';
  const key = made.headers.slice(0, 2);
  const json = [...key, "Content-Type", "application/json"];
  const broken = random.pick<() => Partial<MadeRequest>>([
    () => ({ body: body.slice(0, random.below(body.length + 1)) }),
    () => ({ body: body.replaceAll('"', "'") }),
    () => ({ body: `${body}${body}` }),
    () => ({ body: `\ufeff${body}` }),
    () => ({ body: body.replace("{", '{"__proto__":{"a":1},') }),
    () => ({ body: body.replace("{", `{"name":"a","Name":"b","name":"c","n\u0430me":"d",`) }),
    () => ({ body: random.pick(["[]", "null", '"x"', "1e999", "-", "[1,]", "NaN", "{}x", "{", "\u0000"]) }),
    () => ({ body: "[".repeat(50_000) }),
    () => ({ body: `${'{"a":'.repeat(2000)}1${"}".repeat(2000)}` }),
    () => ({ body: `{"a":"${"x".repeat(1024 * 1024)}"}` }),
    () => ({
      headers: [
        ...key,
        "Content-Type",
        random.pick(["text/plain", "application/xml", "application/json; charset=utf-16"]),
      ],
    }),
    () => ({ headers: [...key, "Content-Type", "multipart/form-data; boundary=x"], body: "--x--" }),
    () => ({ slow: "late" as const }),
    () => ({ slow: "never" as const }),
  ])();
  return { ...made, kind: "syntax", headers: json, body, ...broken };
}

const nowhere = (random: Random): { method: string; url: string } => ({
  method: random.pick(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]),
  url: random.pick([
    "/v1/",
    "/v1/nothing",
    "/v2/drafts",
    "/v1//drafts",
    "/V1/drafts",
    "/v1/drafts/",
    "/.env",
    "/v1/drafts%00",
  ]),
});
