type Json = Record<string, any>;
export type Schemas = Record<string, Json>;

/**
 * Makes an example value for a schema: its own example or default, or one that suits its type and format. Of an object only the required
 * fields are shown, or one field if none is required.
 */
export function exampleOf(schema: Json, schemas: Schemas, name = ""): unknown {
  if (schema.$ref) return exampleOf(schemas[schema.$ref.split("/").at(-1)] as Json, schemas, name);
  if (schema.examples) return schema.examples[0];
  if (schema.default !== undefined) return schema.default;
  if ("const" in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  const branch = (schema.oneOf ?? schema.anyOf)?.find((each: Json) => each.type !== "null" && !onlyRequires(each));
  if (branch) return exampleOf(branch, schemas, name);
  switch (schema.type) {
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return true;
    case "array":
      return Array.from({ length: Math.max(1, schema.minItems ?? 1) }, () =>
        exampleOf(schema.items ?? {}, schemas, name),
      );
    case "string":
      return text(schema, name);
    case "null":
      return null;
    default:
      return object(schema, schemas);
  }
}

/** True for a schema that only lists required fields, like `{required: [...]}` in a union; such a schema says nothing about the value. */
const onlyRequires = (schema: Json): boolean => Object.keys(schema).join() === "required";

function object(schema: Json, schemas: Schemas): Json {
  const properties = (schema.properties ?? {}) as Json;
  const shown = new Set<string>(schema.required ?? []);
  const either: Json | undefined = schema.anyOf?.find(onlyRequires);
  for (const field of either?.required ?? []) shown.add(field);
  const [first] = Object.keys(properties);
  if (shown.size === 0 && first !== undefined) shown.add(first);
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([field]) => shown.has(field))
      .map(([field, inner]) => [field, exampleOf(inner, schemas, field)]),
  );
}

/** Example strings by format. */
const ofFormat: Record<string, string> = {
  uuid: "0193a0aa-0000-7000-8000-000000000001",
  date: "2026-11-20",
  "date-time": "2026-11-20T09:00:00Z",
  "date-or-time": "2026-11-20",
  "email-address": "ann@customer.example",
};

/** Example strings by field name. */
const ofName: Record<string, string> = {
  body_text: "It arrives tomorrow.",
  body_html: "<p>It arrives tomorrow.</p>",
  subject: "Your parcel",
  subject_override: "Your parcel",
  name: "My agent",
  display_name: "Support",
  url: "https://example.com/hooks/countersign",
  domain_name: "example.com",
  reason: "The tone is off.",
  tag: "vip",
};

const text = ({ format, minLength = 0 }: Json, name: string): string =>
  ofFormat[format ?? ""] ?? ofName[name] ?? "text".padEnd(minLength, ".");
