import { expect } from "chai";
import type { Document } from "#src/http/framework/openapi/openapi.ts";
import type { HttpAnswer } from "#test/support/asking.ts";
import {
  bodyOf,
  fieldAt,
  idPlaces,
  makeTenant,
  nounOfField,
  paramsOf,
  pathOf,
  put,
  type Tenant,
  webhookHost,
} from "#test/support/examples/world.ts";
import { type InProcess, startInProcess } from "#test/support/inProcess.ts";
import { realDocument } from "#test/support/realRoutes.ts";

type Json = Record<string, any>;
type Operation = { line: string; method: string; path: string; body: Json | undefined; parameters: Json[] };

const nothing = "00000000-0000-7000-8000-000000000001";

/** Another workspace's ids in every place that takes an id: the answers must equal those for missing ids. */
describe("foreign ids × routes [5 404 of another workspace] [7 404 not_found]", function () {
  this.timeout(600_000);
  const document: Document = realDocument();
  const schemas: Json = document.components.schemas;
  const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods as Json).map(([verb, { parameters, requestBody }]) => {
      const method = verb.toUpperCase();
      const body = requestBody?.content["application/json"].schema;
      return { line: `${method} ${path}`, method, path, body, parameters };
    }),
  );
  let service: InProcess;
  let tenant: Tenant;
  let stranger: Tenant;
  /** The stranger's lists before the other workspace existed. */
  let alone: Map<string, string>;
  const asked = { path: 0, body: 0, filter: 0, count: 0 };

  before(async () => {
    service = await startInProcess({ WEBHOOK_ALLOWED_HOSTS: webhookHost });
    stranger = await makeTenant(service, document);
    await service.caughtUp();
    alone = await listed();
    tenant = await makeTenant(service, document);
  });
  after(async () => {
    await service.stop();
    console.log(
      `      pairs asked: ${Object.entries(asked)
        .map(([kind, n]) => `${n} ${kind}`)
        .join(", ")}`,
    );
  });

  const shape = ({ status, json, text }: HttpAnswer) => [status, json ? { ...json, request_id: "" } : text];
  const bodyFor = ({ body }: Operation) => body && bodyOf(body, schemas, stranger);

  /** Returns every list's total and ids, as the stranger sees them. */
  async function listed(): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (const { path } of operations.filter(({ method, path }) => method === "GET" && paramsOf(path).length === 0)) {
      const { json } = await stranger.ask(`GET ${path}`);
      if (json?.data !== undefined) found.set(path, JSON.stringify([json.total, json.data.map(({ id }: Json) => id)]));
    }
    return found;
  }

  it("a foreign id in a path is answered with 404 like a missing one, by every route", async () => {
    for (const operation of operations) {
      for (const { name, noun } of paramsOf(operation.path)) {
        const [foreign, missing] = await Promise.all(
          [tenant.ids[noun] as string, nothing].map((id) =>
            stranger.ask(`${operation.method} ${pathOf(operation.path, stranger, { [name]: id })}`, {
              json: bodyFor(operation),
            }),
          ),
        );
        asked.path += 1;
        expect(shape(foreign as HttpAnswer), `${operation.line} ${name}`).to.deep.equal(shape(missing as HttpAnswer));
        expect(foreign?.status, `${operation.line} ${name}`).to.equal(404);
      }
    }
    expect(asked.path).to.be.above(20);
  });

  it("a foreign id in a body is answered with 404 and the field's name, like a missing one", async () => {
    for (const operation of operations.filter(({ body }) => body !== undefined)) {
      for (const place of idPlaces(operation.body as Json, schemas)) {
        const field = fieldAt(place);
        const [foreign, missing] = await Promise.all(
          [tenant.ids[nounOfField(field)] as string, nothing].map((id) =>
            stranger.ask(`${operation.method} ${pathOf(operation.path, stranger)}`, {
              json: put(bodyFor(operation) as Json, place, id),
            }),
          ),
        );
        asked.body += 1;
        const said = `${operation.line} ${place.join(".")}: ${foreign?.text}`;
        expect(shape(foreign as HttpAnswer), said).to.deep.equal(shape(missing as HttpAnswer));
        expect([foreign?.status, foreign?.json.error], said).to.deep.equal([404, "not_found"]);
        expect(foreign?.json.message, said).to.contain(field);
      }
    }
    expect(asked.body).to.be.above(3);
  });

  it("a foreign id in a filter finds and counts nothing, like a missing one", async () => {
    for (const operation of operations.filter(({ method }) => method === "GET")) {
      for (const { name, schema } of operation.parameters.filter((each) => each.in === "query")) {
        if (schema.format !== "uuid") continue;
        const [foreign, missing] = await Promise.all(
          [tenant.ids[nounOfField(name)] as string, nothing].map((id) =>
            stranger.ask(`GET ${pathOf(operation.path, stranger)}?${name}=${id}`),
          ),
        );
        asked.filter += 1;
        const said = `${operation.line} ${name}`;
        expect(shape(foreign as HttpAnswer), said).to.deep.equal(shape(missing as HttpAnswer));
        if (foreign?.json.total !== undefined)
          expect([foreign.json.total, foreign.json.data], said).to.deep.equal([0, []]);
      }
    }
    expect(asked.filter).to.be.above(3);
  });

  it("the lists and counts of a workspace do not change with what another workspace owns", async () => {
    const theirs = Object.values(tenant.ids);
    for (const [path, text] of await listed()) {
      asked.count += 1;
      // The stranger's own requests make events, and heads of its own audit tree.
      if (!["/v1/events", "/v1/audit/heads"].includes(path)) expect(text, path).to.equal(alone.get(path));
      for (const id of theirs) expect(text, path).not.to.contain(id);
    }
    expect(asked.count).to.be.above(5);
  });

  it("requests with foreign ids cause no event in the other workspace and leave its things readable", async () => {
    const keys = (await stranger.ask("GET /v1/api-keys?limit=100")).json.data.map(({ id }: Json) => id);
    const { rows } = await service.database.query(
      `select stream_id, type from es.events theirs
       where metadata -> 'actor' ->> 'id' = any($1) and exists (
         select from es.events own where own.stream_id = theirs.stream_id and own.metadata ->> 'workspaceId' = $2)`,
      [keys, tenant.workspaceId],
    );
    expect(rows).to.deep.equal([]);
    for (const [noun, id] of Object.entries(tenant.ids)) {
      const read = operations.find(({ line }) => new RegExp(`^GET /v1/${noun}/\\{\\w+\\}$`).test(line));
      if (read) expect((await tenant.ask(`GET ${pathOf(read.path, tenant)}`)).status, `${noun} ${id}`).to.equal(200);
    }
  });
});
