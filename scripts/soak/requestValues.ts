import type { Random } from "../support/random.ts";

/** Values for the fields of a request: valid ones by its schema, and ones that no field should accept. */

type Json = Record<string, any>;

/** An id for a field or parameter of this name. */
export type IdFor = (name: string) => string;

/** SQL injections: quotes, comments, stacked statements, sleeps, in the dialects of PostgreSQL and its neighbours. */
export const sql = [
  "' OR '1'='1",
  "' OR 1=1 --",
  '" OR ""="',
  "'; DROP TABLE drafts; --",
  "1; SELECT pg_sleep(20) --",
  "'; SELECT pg_sleep(20) --",
  "' || (SELECT pg_sleep(20)) || '",
  "' AND 1=(SELECT 1 FROM pg_sleep(20)) --",
  "') UNION SELECT null,null,null --",
  "' UNION ALL SELECT version(),current_user --",
  "$$; SELECT 1; $$",
  "E'\\\\'",
  "\\'; COPY (SELECT 1) TO PROGRAM 'true'; --",
  "%' OR subject LIKE '%",
  "_%_%_%",
  "a' AND ascii(substr(current_database(),1,1))>64 --",
  "1/**/OR/**/1=1",
  "'::int",
  "a:* | b & !c <-> 'd",
  "#{1+1} {{7*7}} %{(1)}",
] as const;

/** Text that is valid in any text field, but unusual. */
const odd = [
  ...["x", "null", "0", " ", "Grüße, 你好, שלום", "\u202e\u2066\u0007\u001b[31m\u2028", "../../etc/passwd"],
  ...["e\u0301\u0301\u0301 ﷽ 👩‍👩‍👧‍👦", "<script>alert(1)</script>", ...sql],
];

/** Inputs for making a value; `name`: of the field or parameter that it is for. */
type ValueInput = { random: Random; idFor: IdFor; name?: string };

/** Makes a valid value for the schema. */
export function valid(schema: Json, { random, idFor, name = "" }: ValueInput): unknown {
  const made = (inner: Json, field = name): unknown => valid(inner, { random, idFor, name: field });
  if (schema.format === "uuid") return idFor(name);
  if (schema.examples && random.chance(0.5)) return random.pick(schema.examples);
  if ("const" in schema) return schema.const;
  if (schema.enum) return random.pick(schema.enum);
  const branches = (schema.oneOf ?? schema.anyOf)?.filter((each: Json) => !onlyRequires(each));
  if (branches?.length > 0) return made(random.pick(branches));
  switch (schema.type) {
    case "integer":
    case "number":
      return random.pick([schema.minimum ?? 0, schema.maximum ?? 1000, schema.default ?? schema.minimum ?? 1]);
    case "boolean":
      return random.chance(0.5);
    case "array": {
      const [least, most] = [schema.minItems ?? 0, Math.min(schema.maxItems ?? 3, 3)];
      return Array.from({ length: least + random.below(most - least + 1) }, () => made(schema.items ?? {}));
    }
    case "string":
      return text(schema, random, name);
    case "null":
      return null;
  }
  if (!schema.properties) return random.chance(0.5) ? {} : { note: random.pick(odd), list: [1, null, { a: true }] };
  const either: Json[] = schema.anyOf?.filter(onlyRequires) ?? [];
  // Null means a field that is left out, and one of these is required.
  const given: string[] = either.length > 0 ? random.pick(either).required : [];
  const needed = new Set<string>([...(schema.required ?? []), ...given]);
  const fields = Object.entries<Json>(schema.properties).filter(([field]) => needed.has(field) || random.chance(0.3));
  return Object.fromEntries(
    fields.map(([field, inner]) => [field, made(given.includes(field) ? withoutNull(inner) : inner, field)]),
  );
}

const onlyRequires = (schema: Json): boolean => Object.keys(schema).join() === "required";
const withoutNull = (schema: Json): Json =>
  schema.anyOf ? { ...schema, anyOf: schema.anyOf.filter((each: Json) => each.type !== "null") } : schema;

function text(schema: Json, random: Random, name: string): string {
  const ofFormat: Record<string, () => string> = {
    "email-address": () => `${random.word()}@customer.example`,
    "date-time": () => "2026-11-20T09:00:00Z",
    "date-or-time": () => random.pick(["2026-11-20", "2026-11-20T09:00:00+01:00"]),
    date: () => "2026-11-20",
    "single-line": () => random.pick(odd).replaceAll(/[\r\n\u2028]/g, " "),
  };
  const made = ofFormat[schema.format]?.() ?? (name === "url" ? "http://localhost:9/hook" : random.pick(odd));
  if (schema.pattern && !new RegExp(schema.pattern, "u").test(made)) return schema.examples?.[0] ?? random.word();
  const most = Math.min(schema.maxLength ?? 300_000, schema["x-max-bytes"] ?? 300_000);
  if (most < 300_000 && random.chance(0.05)) return "y".repeat(most);
  return made.slice(0, most).padEnd(schema.minLength ?? 0, "z");
}

const nested = (depth: number): unknown =>
  depth === 0 ? 1 : depth % 2 ? [nested(depth - 1)] : { a: nested(depth - 1) };

/** Makes a value that belongs in no field, although some fields may accept one. */
export const outlandish = (random: Random): unknown =>
  random.pick<() => unknown>([
    () => random.pick(sql),
    () => random.pick([1e308, -0.5, 2 ** 53 + 2, 1e21, -(2 ** 63)]),
    () => random.pick(["\ud800", "x\udfff", "\ud83d", "a\u0000b"]),
    () => nested(random.pick([31, 32, 33, 500])),
    () => JSON.parse('{"__proto__": {"admin": true}}'),
    () => ({ constructor: { prototype: { admin: true } }, toString: 1, hasOwnProperty: 1 }),
    () =>
      random.pick([
        ["ann@customer.example", "ANN@Customer.Example"],
        ["ann@customer.example", "аnn@customer.example"],
      ]),
    () => random.pick(["2026-02-31", "0000-00-00", "9999-12-31T23:59:60Z", "now", "+275760-09-13T00:00:00Z"]),
    () => random.pick([[null], [[]], [{}], [undefined, 1], Array(20_000).fill(0)]),
    () => random.pick(["(".repeat(5_000), "x".repeat(2_000_000)]),
  ])();
