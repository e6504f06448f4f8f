import type { TSchema } from "typebox";
import { formats } from "./formats.ts";

type AnySchema = {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: AnySchema[];
  oneOf?: AnySchema[];
  properties?: Record<string, AnySchema>;
  discriminator?: { propertyName: string };
  format?: string;
  pattern?: string;
  remedy?: string;
  description?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxBytes?: number;
  maxJsonBytes?: number;
  base64File?: number;
  minItems?: number;
  maxItems?: number;
};

/** Describes what a schema accepts, to complete "expected …". `tag`: describes the values of that discriminating field instead. */
export function expected(schema: TSchema, tag?: string): string {
  if (tag !== undefined) return oneOf(tagsOf(schema as AnySchema, tag));
  const { remedy } = schema as AnySchema;
  return remedy === undefined ? words(schema as AnySchema) : `${words(schema as AnySchema)}; ${remedy}`;
}

function words(schema: AnySchema): string {
  if (schema.anyOf) return schema.anyOf.map(words).join(" or ");
  if (schema.enum) return oneOf(schema.enum);
  if ("const" in schema) return oneOf([schema.const]);
  if (schema.base64File !== undefined) return text({ maxLength: schema.base64File });
  switch (schema.type) {
    case "integer":
    case "number":
      return `${schema.type === "integer" ? "an integer" : "a number"}${range(schema)}`;
    case "boolean":
      return "true or false";
    case "string":
      return text(schema);
    case "array":
      return ["an array", between(schema.minItems, schema.maxItems, "elements")].filter(Boolean).join(" of ");
    case "null":
      return "null";
    default:
      return `an object${schema.maxJsonBytes === undefined ? "" : ` of at most ${schema.maxJsonBytes} bytes as JSON`}`;
  }
}

const oneOf = (values: unknown[]): string =>
  values.length === 1 ? JSON.stringify(values[0]) : `one of ${values.map(String).join(", ")}`;

function text(schema: AnySchema): string {
  const { format, pattern, minLength, maxLength, maxBytes } = schema;
  const known = format === undefined ? undefined : formats[format]?.expected;
  const kind = known ?? (pattern === undefined ? "a string" : `a string of the form ${pattern}`);
  const sizes = [between(minLength, maxLength, "characters"), between(undefined, maxBytes, "bytes")].filter(Boolean);
  if (sizes.length === 0) return kind;
  return `${kind}${known === undefined ? "" : ","} of ${sizes.join(" and ")}`;
}

function range({ minimum, maximum }: AnySchema): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` of at least ${minimum}`;
  return maximum === undefined ? "" : ` of at most ${maximum}`;
}

function between(least: number | undefined, most: number | undefined, unit: string): string {
  if (least !== undefined && most !== undefined) return `${least} to ${most} ${unit}`;
  if (least !== undefined) return `at least ${least} ${least === 1 ? unit.slice(0, -1) : unit}`;
  return most === undefined ? "" : `at most ${most} ${unit}`;
}

function tagsOf(schema: AnySchema, tag: string): unknown[] {
  return (schema.oneOf ?? []).map((branch) => branch.properties?.[tag]?.const ?? "?");
}
