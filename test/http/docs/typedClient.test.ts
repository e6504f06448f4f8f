import { readFileSync } from "node:fs";
import { expect } from "chai";
import { realDocument } from "#test/support/realRoutes.ts";

type Json = Record<string, any>;

/**
 * The rules that a generator of types relies on. openapi-typescript itself is not run: it needs TypeScript 5, and this project has another
 * version.
 */
describe("/openapi.json, for a typed client", () => {
  const document: Json = JSON.parse(JSON.stringify(realDocument()));
  const operations = Object.entries(document.paths as Json).flatMap(([path, methods]) =>
    Object.entries(methods as Json).map(([method, operation]) => ({ path, line: `${method} ${path}`, operation })),
  );
  const at = (steps: readonly string[]): any => steps.reduce<any>((inner, step) => inner?.[step], document);

  it("every reference in /openapi.json leads to a place in the same document", () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(
      ([, target]) => target as string,
    );
    expect(references.length).to.be.above(100);
    const dead = references.filter(
      (target) => !target.startsWith("#/") || at(target.slice(2).split("/")) === undefined,
    );
    expect(dead).to.deep.equal([]);
  });

  it("/openapi.json gives each operation its own name, and names each schema by a word", () => {
    const names = operations.map(({ operation }) => operation.operationId);
    expect(new Set(names).size).to.equal(operations.length);
    expect([...names, ...Object.keys(document.components.schemas)].filter((name) => !/^\w+$/.test(name))).to.deep.equal(
      [],
    );
  });

  it("/openapi.json declares each path parameter, and a successful answer of each operation", () => {
    for (const { path, line, operation } of operations) {
      const declared = operation.parameters.filter((each: Json) => each.in === "path").map((each: Json) => each.name);
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(declared, line).to.have.members(named);
      expect(
        Object.keys(operation.responses).some((status) => status.startsWith("2")),
        line,
      ).to.equal(true);
    }
  });

  it("/openapi.json has the path that the page about MCP shows to authors of typed clients", () => {
    const page = readFileSync(new URL("../../../src/http/docs/mcp.md", import.meta.url), "utf8");
    const steps = /^type Thread = paths((?:\["[^"]+"\])+);$/m.exec(page)?.[1] ?? "";
    const found = at(["paths", ...[...steps.matchAll(/\["([^"]+)"\]/g)].map(([, step]) => step as string)]);
    expect(found?.schema, steps).to.be.an("object");
  });
});
