import type { JsonSchemaType, jsonSchemaValidator } from "@modelcontextprotocol/server";
import { fromJsonSchema } from "@modelcontextprotocol/server";
import Type, { type TObject } from "typebox";
import { invalidRequest } from "#streams/decider.ts";
import { formats } from "../framework/validation/formats.ts";
import { compileCheck } from "../framework/validation/validation.ts";
import type { Tool } from "./tool.ts";

/** Argument that makes a repeated call harmless, as the header Idempotency-Key does. */
export const idempotencyKey = {
  idempotency_key: Type.Optional(
    Type.String({
      pattern: "^[ -~]{1,255}$",
      description:
        "Any text of your choice. Repeated calls with the same key and the same arguments take effect only once.",
    }),
  ),
};

export type Input = {
  /** The JSON Schema shown to clients. */
  listed: ReturnType<typeof fromJsonSchema>;
  /** Removes what counts as absent, and fills in defaults. Throws Rejected (`invalid_request`), as the routes do. */
  check(args: unknown): void;
};

const inputs = new WeakMap<Tool, Input>();

/** A tool's arguments: listed as plain JSON Schema, checked by the original schema. Created once per tool. */
export function inputOf(tool: Tool): Input {
  const known = inputs.get(tool);
  if (known) return known;
  const plain = plainSchema(tool.input);
  const listed = fromJsonSchema(plain as JsonSchemaType, judgedByUs);
  const check = compileCheck(tool.input);
  const made: Input = {
    listed,
    check(args) {
      if (isObject(args)) dropAbsent(args, { required: (plain.required as string[] | undefined) ?? [], tool });
      check(args);
    },
  };
  inputs.set(tool, made);
  return made;
}

/**
 * Drops null and "" of optional arguments: clients in a strict mode have to give each argument. In a tool that revises, "" removes a text,
 * for which the route expects null; null itself is refused there, since it could mean either, and all such arguments are named.
 */
function dropAbsent(
  args: Record<string, unknown>,
  { required, tool: { input, revises } }: { required: readonly string[]; tool: Tool },
): void {
  const optional = Object.keys(input.properties).filter(
    (name) => !required.includes(name) && Object.hasOwn(args, name),
  );
  const nulls = optional.filter((name) => args[name] === null);
  const [first] = nulls;
  if (revises && first !== undefined) throw invalidRequest(first, whatToDo(nulls, input));
  for (const name of optional.filter((name) => args[name] === null || args[name] === "")) {
    if (!revises) delete args[name];
    else if (!Type.IsArray(input.properties[name])) args[name] = null;
  }
}

function whatToDo(names: readonly string[], { properties }: TObject): string {
  const removed = names.map((name) => `use ${Type.IsArray(properties[name]) ? "[]" : '""'} for ${name}`).join(", ");
  return `null is not clear: leave an argument out to keep its value, or remove the value: ${removed}`;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Disables the library's validation: arguments are checked later, where an error can say what to do next. */
const judgedByUs = {
  getValidator: () => (data: unknown) => ({ valid: true, data, errorMessage: undefined }),
} as unknown as jsonSchemaValidator;

const words = [
  ...["type", "description", "enum", "default", "additionalProperties", "pattern"],
  // Without minLength, because "" counts as absent.
  ...["minimum", "maximum", "maxLength", "minItems", "maxItems"],
];

/**
 * Reduces a schema to the keywords that every model's maker accepts: each value has one type, and a format is said in words. Null is not
 * listed, because it counts as absent.
 */
export function plainSchema(schema: Record<string, any>): Record<string, unknown> {
  const given = schema.anyOf?.find(({ type }: { type?: string }) => type !== "null");
  if (given) return plainSchema(given);
  const plain: Record<string, unknown> = {};
  for (const word of words) if (schema[word] !== undefined) plain[word] = schema[word];
  if ("const" in schema) plain.enum = [schema.const];
  if (plain.enum !== undefined) plain.type = "string";
  const format = formats[schema.format]?.expected;
  if (format !== undefined) plain.description = [schema.description, `Expected: ${format}.`].filter(Boolean).join(" ");
  if (schema.properties) plain.properties = mapped(schema.properties);
  // Arguments with a default are optional: they are filled in.
  const required = schema.required?.filter((name: string) => !hasDefault(schema.properties[name])) ?? [];
  if (required.length > 0) plain.required = required;
  if (schema.items) plain.items = plainSchema(schema.items);
  return plain;
}

const hasDefault = (schema: object): boolean => Object.hasOwn(schema, "default");

const mapped = (properties: TObject["properties"]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, plainSchema(schema)]));
