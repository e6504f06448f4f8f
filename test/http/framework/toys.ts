import { expect } from "chai";
import Type from "typebox";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { reply } from "#src/http/framework/reply.ts";
import { route } from "#src/http/framework/route.ts";
import { DateOrTime, Deleted, ListQuery, Strict, Text, Uuid } from "#src/http/schemas/common.ts";
import { CreateDraft, EditDraft } from "#src/http/schemas/drafts.ts";
import { CreateIdentity } from "#src/http/schemas/identities.ts";
import { Rejected } from "#streams/decider.ts";
import { serveRoutes } from "./support.ts";

export const known = "0193a0aa-0000-7000-8000-00000000000d";
export const missing = "0193a0aa-0000-7000-8000-00000000000e";
const Toy = Strict({ id: Uuid, version: Type.Integer(), seen: Type.Unknown() }, { title: "Toy" });
const common = { summary: "A toy", limit: "write" } as const;
const find = async ({ params }: { params: { id: string } }) => (params.id === known ? { version: 3 } : undefined);
const toy = (seen: unknown) => ({ id: known, version: 3, seen });

export const failures: Record<string, unknown> = {
  stale: new Rejected("stale_draft", "a newer message arrived", { new_message_id: missing, inner: "secret" }),
  taken: new Rejected("invalid_request", "local_part: in use", { conflict: true }),
  quota: new Rejected("plan_limit_reached", "used up"),
  throttled: new Rejected("rate_limited", "a moment ago", { retryAfter: 42 }),
  away: new Unavailable("PostgreSQL: connect ECONNREFUSED 10.0.0.7"),
  lagging: Object.assign(new Unavailable("waited 5 s"), { recorded: true, id: known }),
  bug: new TypeError("cannot read x of undefined in /srv/secret.ts"),
  nonsense: new Rejected("no_such_code", "?"),
};

const bytes = { mediaType: "text/plain", description: "Bytes" };
export const unwritable: Record<string, unknown> = {
  nothing: undefined,
  bigint: { n: 1n },
  header: reply({ bytes: Buffer.from("x"), headers: { "Content-Disposition": "a\r\nX-Evil: 1" } }),
};

export const routes = [
  route(
    "GET /v1/toys",
    {
      scope: "read:threads",
      limit: "read",
      summary: "Toys",
      query: ListQuery({
        flag: Type.Optional(Type.Boolean()),
        q: Type.Optional(Text(10)),
        owner: Type.Optional(Uuid),
        kind: Type.Optional(Type.Enum(["a", "b"])),
        since: Type.Optional(DateOrTime),
      }),
      answers: Toy,
    },
    async ({ query }) => toy(query),
  ),
  route(
    "GET /v1/toys/:id",
    { ...common, scope: "read:threads", answers: Toy, etag: (answer) => answer.version, load: find },
    async ({ loaded, actor, cause }) => toy({ loaded, actor, cause }),
  ),
  route(
    "POST /v1/toys/:id/paint",
    {
      ...common,
      scope: "write:drafts",
      body: Strict({ color: Text(10) }),
      answers: Toy,
      ifMatch: true,
      load: find,
      status: 202,
    },
    async ({ body, ifMatch, params }) => toy({ body, ifMatch: ifMatch ?? null, params }),
  ),
  route("DELETE /v1/toys/:id", { ...common, scope: "write:drafts", answers: Deleted }, async ({ params }) => ({
    id: params.id,
    deleted: true,
  })),
  route(
    "POST /v1/drafts",
    { ...common, scope: "write:drafts", body: CreateDraft, answers: Toy, status: 201 },
    async ({ body }) => toy(body),
  ),
  route("PATCH /v1/drafts/:id", { ...common, scope: "write:drafts", body: EditDraft, answers: Toy }, async ({ body }) =>
    toy(body),
  ),
  route(
    "POST /v1/identities",
    { ...common, scope: "write:identities", body: CreateIdentity, answers: Toy },
    async ({ body }) => toy(body),
  ),
  route(
    "GET /v1/fails/:how",
    {
      ...common,
      scope: "read:threads",
      params: Strict({ how: Type.Enum(Object.keys(failures)) }),
      answers: Toy,
      errors: ["stale_draft", "plan_limit_reached"],
      conflict: "taken",
    },
    async ({ params }) => {
      throw failures[params.how];
    },
  ),
  route(
    "GET /v1/raw",
    { ...common, scope: "read:threads", answers: { mediaType: "message/rfc822", description: "Bytes" } },
    async () => reply({ bytes: Buffer.from([1, 2, 255]), headers: { "Content-Type": "message/rfc822" } }),
  ),
  route(
    "GET /v1/unwritable/:what",
    { ...common, scope: "read:threads", params: Strict({ what: Type.String() }), answers: bytes },
    async ({ params }) => unwritable[params.what],
  ),
  route("GET /v1/undocumented", { ...common, scope: "read:threads", answers: Toy }, async () => ({
    ...toy(null),
    password: "x",
  })),
  route("GET /v1/undocumented-error", { ...common, scope: "read:threads", answers: Toy }, async () => {
    throw new Rejected("invalid_status", "not now");
  }),
  route("GET /v1/undocumented-status", { ...common, scope: "read:threads", answers: Toy }, async () =>
    reply({ status: 202, json: toy(null) }),
  ),
  route("PATCH /v1/gone/:id", { ...common, scope: "write:drafts", answers: Toy, load: find }, async () => undefined),
  route("GET /v1/open", { ...common, scope: null, answers: Toy }, async () => toy(null)),
];

export const draft = { thread_id: known, identity_id: known, based_on_message_id: known, body_text: "Hello" };

/** Serves these routes for the tests of one `describe`. */
export function useToys() {
  let service: Awaited<ReturnType<typeof serveRoutes>>;
  before(async () => {
    service = await serveRoutes(routes, { upgradeUrl: "https://example.com/upgrade" });
  });
  after(() => service.close());

  const ask: (typeof service)["ask"] = (...asked) => service.ask(...asked);
  return {
    get service() {
      return service;
    },
    ask,
    /** Sends a request that has to be refused with this status and code; returns the refusal. */
    async refused(line: string, options: Parameters<typeof ask>[1], [status, error]: [number, string]) {
      const answer = await ask(line, options);
      expect([answer.status, answer.json?.error], `${line}: ${answer.text}`).to.deep.equal([status, error]);
      expect(answer.json.message).to.be.a("string").and.not.equal("");
      expect(answer.json.request_id).to.equal(answer.headers.get("x-request-id"));
      return answer.json;
    },
  };
}
