import { expect } from "chai";
import { plainSchema } from "#src/http/mcp/input.ts";
import { tools } from "#src/http/mcp/tools/index.ts";

type Schema = Record<string, any>;

/** Keywords that Gemini's, OpenAI's and Anthropic's interfaces all accept, in strict mode too or by leaving them out there. */
const known = [
  ...["type", "description", "properties", "required", "additionalProperties", "items", "enum", "default", "pattern"],
  ...["minimum", "maximum", "maxLength", "minItems", "maxItems"],
];
const types = ["object", "array", "string", "integer", "number", "boolean"];

/** Returns what some maker of models refuses in a schema, with its path; most of them then refuse all tools of the server. */
function faultsOf(schema: Schema, path = "input"): string[] {
  const fault = (sentence: string): string => `${path}: ${sentence}`;
  const odd = Object.keys(schema).filter((word) => !known.includes(word) && word !== "format");
  const { type, items, properties, required = [], enum: choices, format, description = "", pattern } = schema;
  const children: [string, Schema][] = [
    ...Object.entries<Schema>(properties ?? {}),
    ...(items && !Array.isArray(items) ? [["[]", items] as [string, Schema]] : []),
  ];
  return [
    ...odd.map((word) => fault(`has ${word}`)),
    ...(types.includes(type) ? [] : [fault("has not one type")]),
    ...(format === undefined || (type === "string" && format === "date-time") ? [] : [fault(`has format ${format}`)]),
    ...(type === "array" && (items === undefined || Array.isArray(items)) ? [fault("is an array without items")] : []),
    ...(type === "object" && (properties === undefined || schema.additionalProperties !== false)
      ? [fault("is an object without properties, or open")]
      : []),
    ...(choices === undefined || isTextChoice(type, choices) ? [] : [fault("has choices that are not all text")]),
    ...required
      .filter((name: string) => properties?.[name] === undefined)
      .map((name: string) => fault(`needs ${name}`)),
    ...(Array.isArray(schema.required) && required.length === 0 ? [fault("requires an empty list")] : []),
    ...(description.length > 1_024 ? [fault("has a long description")] : []),
    // Grammars are made of patterns: they know neither look-around nor escapes.
    ...(pattern === undefined || /^\^[^\\(]*\$$/.test(pattern) ? [] : [fault("has a pattern that is not plain")]),
    ...children.flatMap(([name, child]) => [
      ...(name === "[]" || /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/.test(name) ? [] : [fault(`names ${name}`)]),
      ...faultsOf(child, `${path}.${name}`),
    ]),
  ];
}

const isTextChoice = (type: unknown, choices: unknown[]): boolean =>
  type === "string" && choices.length > 0 && choices.every((each) => typeof each === "string" && each !== "");

const object = (properties: Schema, more: Schema = {}): Schema => ({
  ...{ type: "object", properties, additionalProperties: false },
  ...more,
});

describe("mcp: schemas of the tools", () => {
  /** Forms that public reports name as refused, and who refuses them. */
  const refused: [schema: Schema, fault: RegExp][] = [
    [object({ a: { enum: ["x"] } }), /one type/], // Gemini
    [object({ a: { const: "x" } }), /has const/], // Gemini
    [object({ a: { type: "string", format: "uuid" } }), /format uuid/], // Gemini
    [object({ a: { type: "string", format: "email" } }), /format email/], // Gemini
    [object({ a: { type: ["string", "null"] } }), /one type/], // Gemini
    [object({ a: { anyOf: [{ type: "string" }, { type: "null" }] } }), /has anyOf/], // Gemini, older
    [object({ a: { type: "integer", enum: [1, 2] } }), /not all text/], // Gemini
    [object({ a: { type: "string", enum: ["", "x"] } }), /not all text/], // Gemini: an empty choice
    [object({ a: { type: "integer", exclusiveMinimum: 0 } }), /exclusiveMinimum/], // Gemini
    [object({ a: { type: "array" } }), /without items/], // OpenAI, VS Code
    [object({ a: { type: "array", items: [{ type: "string" }] } }), /without items/], // OpenAI
    [object({ a: { type: "array", prefixItems: [] } }), /prefixItems/], // Gemini
    [object({ a: { $ref: "#/$defs/a" } }, { $defs: {} }), /has \$ref/], // Gemini, Kimi
    [object({ a: { type: "object" } }), /without properties/], // OpenAI, strict
    [object({ a: { type: "string", examples: ["x"] } }), /has examples/], // Gemini
    [{ ...object({}), oneOf: [{ required: ["a"] }] }, /has oneOf/], // Anthropic and OpenAI, at the top
    [{ ...object({}), $schema: "http://json-schema.org/draft-07/schema#" }, /has \$schema/], // Gemini
    [{ type: "object", properties: {}, patternProperties: {}, additionalProperties: {} }, /patternProperties/], // Gemini
    [object({ "a.b": { type: "string" } }), /names a\.b/], // OpenAI
    [object({}, { required: ["a"] }), /needs a/], // Gemini
    [object({}, { required: [] }), /empty list/], // validators of draft 4
    [object({ a: { type: "string", pattern: "^(?=x)\\w+$" } }), /pattern/], // llama.cpp
    [object({ a: { type: "string", description: "x".repeat(1_025) } }), /long description/], // OpenAI
  ];

  it("the judge of these tests finds each form that a maker of models refuses", () => {
    for (const [schema, fault] of refused) expect(faultsOf(schema).join("; "), JSON.stringify(schema)).to.match(fault);
    expect(faultsOf(object({ a: { type: "string", format: "date-time" } }))).to.deep.equal([]);
  });

  for (const { name, description, input } of tools)
    it(`no maker of models refuses the schema, name or description of ${name}`, () => {
      expect(faultsOf(plainSchema(input))).to.deep.equal([]);
      expect(name).to.match(/^[a-z][a-z_]{0,40}$/);
      expect(description.length).to.be.below(1_024);
    });

  it("what a schema says of a value stays when it is made plain: types of choices, formats in words, no null", () => {
    const plain = plainSchema(tools.find(({ name }) => name === "list_threads")!.input).properties as Schema;
    expect(plain.status).to.include({ type: "string" });
    expect(plain.identity_id).to.deep.equal({ type: "string", description: "Expected: a UUID." });
    expect(plain.from_date.description).to.include("a date (YYYY-MM-DD) or a date and time");
    expect(plainSchema({ const: "x" })).to.deep.equal({ type: "string", enum: ["x"] });
    const text = { anyOf: [{ type: "null" }, { type: "string", format: "uuid" }] };
    expect(plainSchema(text)).to.deep.equal({ type: "string", description: "Expected: a UUID." });
  });

  it("wait_for_decision answers before a client gives up after a minute, and says what a longer time needs", () => {
    const wait = tools.find(({ name }) => name === "wait_for_decision")!;
    const { timeout_seconds: time } = plainSchema(wait.input).properties as Schema;
    expect([time.default, time.maximum]).to.deep.equal([45, 600]);
    for (const text of [wait.description, time.description]) expect(text).to.match(/more than 50/i);
  });
});
