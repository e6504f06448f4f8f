import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "chai";
import { errorMeanings } from "#src/http/docs/errorMeanings.ts";
import { introduction } from "#src/http/docs/introduction.ts";
import { statuses } from "#src/http/framework/errors.ts";
import { scopes } from "#src/http/framework/keys/scopes.ts";
import { exampleOf } from "#src/http/framework/openapi/examples.ts";
import type { Document } from "#src/http/framework/openapi/openapi.ts";
import { formats } from "#src/http/framework/validation/formats.ts";
import { tools } from "#src/http/mcp/tools/index.ts";
import { webhookEventTypes } from "#streams/webhook/events.ts";
import { mountedRoutes, realDocument } from "#test/support/realRoutes.ts";

type Json = Record<string, any>;

const verbs = ["get", "post", "patch", "put", "delete"];

/** The required and allowed keys of each kind of node in OpenAPI 3.1, as far as the document uses them. */
const nodes: Record<string, { needs: string[]; may: string[] }> = {
  document: { needs: ["openapi", "info", "paths"], may: ["servers", "tags", "components"] },
  info: { needs: ["title", "version"], may: ["summary", "description"] },
  operation: {
    needs: ["operationId", "responses"],
    may: ["tags", "summary", "description", "security", "parameters", "requestBody", "x-scope", "x-codeSamples"],
  },
  parameter: { needs: ["name", "in", "required", "schema"], may: ["description", "example"] },
  response: { needs: ["description"], may: ["headers", "content"] },
  header: { needs: ["schema"], may: ["description"] },
  components: { needs: [], may: ["schemas", "headers", "securitySchemes"] },
};

function faultsOf(document: Document): string[] {
  const faults: string[] = [];
  const ajv = new Ajv2020({ strict: false, logger: false, validateFormats: false });
  const node = (kind: string, value: Json, where: string) => {
    const { needs, may } = nodes[kind] as (typeof nodes)[string];
    for (const name of needs) if (value[name] === undefined) faults.push(`${where} lacks ${name}`);
    for (const name of Object.keys(value)) {
      if (![...needs, ...may].includes(name)) faults.push(`${where} has ${name}`);
    }
  };
  const schema = (value: Json, where: string) => {
    if (!ajv.validateSchema(value)) faults.push(`${where}: ${ajv.errorsText()}`);
  };
  node("document", document, "document");
  node("info", document.info, "info");
  node("components", document.components, "components");
  for (const [name, value] of Object.entries(document.components.schemas as Json)) schema(value, name);
  for (const [name, value] of Object.entries(document.components.headers as Json)) node("header", value, name);
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods as Json)) {
      const where = `${method} ${path}`;
      if (!verbs.includes(method)) faults.push(`${where} is no operation`);
      node("operation", operation, where);
      const named = operation.parameters.filter((each: Json) => each.in === "path").map((each: Json) => each.name);
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      if (named.join() !== inPath.join()) faults.push(`${where} names ${named}`);
      for (const parameter of operation.parameters) {
        node("parameter", parameter, `${where} ${parameter.name}`);
        schema(parameter.schema, `${where} ${parameter.name}`);
        if (parameter.in === "path" && parameter.required !== true) faults.push(`${where} ${parameter.name}`);
      }
      for (const [status, response] of Object.entries(operation.responses as Json)) {
        if (!/^[2-5]\d\d$/.test(status)) faults.push(`${where} ${status}`);
        node("response", response, `${where} ${status}`);
        for (const { schema: inner } of Object.values((response.content ?? {}) as Record<string, Json>))
          if (inner) schema(inner, `${where} ${status}`);
      }
    }
  }
  return faults;
}

describe("the service's own OpenAPI document", () => {
  const document = realDocument();
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods as Json).map(([method, operation]) => ({
      line: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  );

  it("the OpenAPI document and the router have the same routes, all under /v1 but those of the audit trees [9 /v1 prefix]", () => {
    const lines = operations.map(({ line }) => line).sort();
    expect(mountedRoutes().sort()).to.deep.equal(lines);
    for (const line of lines) expect(line).to.match(/^[A-Z]+ \/(v1|audit|\.well-known)\//);
  });

  it("the OpenAPI document is valid OpenAPI 3.1, and each of its schemas is valid JSON Schema 2020-12", () => {
    expect(document.openapi).to.match(/^3\.1\./);
    expect(faultsOf(JSON.parse(JSON.stringify(document)))).to.deep.equal([]);
  });

  it("the input schema of every MCP tool is valid JSON Schema 2020-12", () => {
    const ajv = new Ajv2020({ strict: false, logger: false, validateFormats: false });
    for (const { name, input } of tools)
      expect(ajv.validateSchema(JSON.parse(JSON.stringify(input))), `${name}: ${ajv.errorsText()}`).to.equal(true);
  });

  it("every reference in the service's OpenAPI document leads to an object in it", () => {
    for (const [, at] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const found = (at as string).split("/").reduce((node: Json | undefined, step) => node?.[step], document as Json);
      expect(found, at).to.be.an("object");
    }
  });

  it("the example of every request body is valid by that body's own schema", () => {
    const { schemas } = document.components;
    const ajv = new Ajv2020({ strict: false });
    for (const [name, { test }] of Object.entries(formats)) ajv.addFormat(name, { type: "string", validate: test });
    ajv.addSchema({ $id: "doc", components: { schemas } });
    for (const { line, operation } of operations) {
      const schema = operation.requestBody?.content["application/json"].schema;
      if (!schema) continue;
      const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"doc#/')));
      expect(validate(exampleOf(schema, schemas)), `${line}: ${ajv.errorsText(validate.errors)}`).to.equal(true);
    }
  });

  it("every operation documents its scope and its errors, and 429 and 503 have Retry-After", () => {
    for (const { line, operation } of operations) {
      const isPublic = line === "GET /.well-known/countersign-audit-keys";
      expect(operation["x-scope"], line).to.be.oneOf(isPublic ? [undefined] : [...Object.keys(scopes), "any"]);
      expect(Object.keys(operation.responses), line).to.include.members([
        ...(isPublic ? [] : ["401"]),
        "422",
        "429",
        "500",
        "503",
      ]);
      for (const status of ["429", "503"])
        expect(operation.responses[status].headers, line).to.have.property("Retry-After");
      expect(operation.summary, line).to.be.a("string").and.not.equal("");
    }
  });

  it("the description of the OpenAPI document names every scope, error and public event type", () => {
    const text = introduction();
    expect(document.info.description).to.equal(text);
    expect(text).not.to.contain("{{").and.not.to.contain("undefined");
    for (const name of [
      ...Object.keys(scopes),
      ...Object.keys(statuses),
      ...Object.keys(errorMeanings),
      ...webhookEventTypes,
    ])
      expect(text, name).to.contain(`\`${name}\``);
  });
});
