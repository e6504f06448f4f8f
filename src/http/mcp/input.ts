import type { JsonSchemaType, jsonSchemaValidator } from "@modelcontextprotocol/server";
import { fromJsonSchema } from "@modelcontextprotocol/server";
import Type, { type TObject } from "typebox";
import { type Check, compileCheck } from "../framework/validation/validation.ts";
import type { Tool } from "./tool.ts";

/** Argument that makes a repeated call harmless, as the header Idempotency-Key does. */
export const idempotencyKey = {
  idempotency_key: Type.Optional(
    Type.String({
      pattern: "^[\\x20-\\x7e]{1,255}$",
      description:
        "Any text of your choice. Repeated calls with the same key and the same arguments take effect only once.",
    }),
  ),
};

export type Input = {
  /** The JSON Schema shown to clients. */
  listed: ReturnType<typeof fromJsonSchema>;
  /** Fills in defaults. Throws Rejected (`invalid_request`), as the routes do. */
  check: Check;
};

const inputs = new WeakMap<Tool, Input>();

/** A tool's arguments: listed as plain JSON Schema, checked by the original schema. Created once per tool. */
export function inputOf(tool: Tool): Input {
  const known = inputs.get(tool);
  if (known) return known;
  const listed = fromJsonSchema(plainSchema(tool.input) as JsonSchemaType, judgedByUs);
  const made = { listed, check: compileCheck(tool.input) };
  inputs.set(tool, made);
  return made;
}

/** Disables the library's validation: arguments are checked later, where an error can say what to do next. */
const judgedByUs = {
  getValidator: () => (data: unknown) => ({ valid: true, data, errorMessage: undefined }),
} as unknown as jsonSchemaValidator;

const words = [
  ...["type", "description", "enum", "const", "default", "examples", "required", "additionalProperties", "pattern"],
  ...["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"],
];
const commonFormats = ["uuid", "date-time"];

/** Reduces a schema to keywords that every client knows: drops this project's own keywords and formats. */
export function plainSchema(schema: Record<string, any>): Record<string, unknown> {
  const plain: Record<string, unknown> = {};
  for (const word of words) if (schema[word] !== undefined) plain[word] = schema[word];
  if (commonFormats.includes(schema.format)) plain.format = schema.format;
  if (schema.properties) plain.properties = mapped(schema.properties);
  // Arguments with a default are optional: they are filled in.
  if (schema.required) plain.required = schema.required.filter((name: string) => !hasDefault(schema.properties[name]));
  if (schema.items) plain.items = plainSchema(schema.items);
  if (schema.anyOf) plain.anyOf = schema.anyOf.map(plainSchema);
  return plain;
}

const hasDefault = (schema: object): boolean => Object.hasOwn(schema, "default");

const mapped = (properties: TObject["properties"]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, plainSchema(schema)]));
