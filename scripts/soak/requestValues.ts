import type { Random } from "../support/random.ts";

/** Values for the fields of a request, made from its schema: such as it takes, and such as it must not. */

type Json = Record<string, any>;

/** An id for a field or parameter of this name. */
export type IdFor = (name: string) => string;

/** What no query may ever run: quotes, comments, stacked statements, sleeps, in the dialects of PostgreSQL and its neighbours. */
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
  "' AND extractvalue(1,concat(0x7e,version())) --",
  "a:* | b & !c <-> 'd",
  "#{1+1} {{7*7}} %{(1)}",
] as const;

/** Text that is allowed wherever text is, and seldom thought of. */
const odd = [
  "x",
  "Grüße, 你好, שלום",
  "\u202e\u2066\u0007\u001b[31m\u2028",
  "e\u0301\u0301\u0301 ﷽ 👩‍👩‍👧‍👦",
  "<script>alert(1)</script>",
  "../../etc/passwd",
  "null",
  "0",
  " ",
  ...sql,
];

/** What a value is made with; `name`: of the field or parameter that it is for. */
type Making = { random: Random; idFor: IdFor; name?: string };

/** A value that the schema takes. */
export function valid(schema: Json, { random, idFor, name = "" }: Making): unknown {
  if (schema.format === "uuid") return idFor(name);
  if (schema.examples && random.chance(0.5)) return random.pick(schema.examples);
  if ("const" in schema) return schema.const;
  if (schema.enum) return random.pick(schema.enum);
  const branches = (schema.oneOf ?? schema.anyOf)?.filter((each: Json) => Object.keys(each).join() !== "required");
  if (branches?.length > 0) return valid(random.pick(branches), { random, idFor, name });
  switch (schema.type) {
    case "integer":
    case "number":
      return random.pick([schema.minimum ?? 0, schema.maximum ?? 1000, schema.default ?? schema.minimum ?? 1]);
    case "boolean":
      return random.chance(0.5);
    case "array": {
      const most = Math.min(schema.maxItems ?? 3, 3);
      const size = (schema.minItems ?? 0) + random.below(most - (schema.minItems ?? 0) + 1);
      return Array.from({ length: size }, () => valid(schema.items ?? {}, { random, idFor, name }));
    }
    case "string":
      return text(schema, random, name);
    case "null":
      return null;
    default:
      return object(schema, random, idFor);
  }
}

function object(schema: Json, random: Random, idFor: IdFor): Json {
  const needed = new Set<string>(schema.required ?? []);
  const either: Json[] = schema.anyOf?.filter((each: Json) => Object.keys(each).join() === "required") ?? [];
  /** One of them has to be there, and null is not: null stands for what is left out. */
  const given = new Set<string>(either.length > 0 ? random.pick(either).required : []);
  for (const field of given) needed.add(field);
  if (!schema.properties) return random.chance(0.5) ? {} : { note: random.pick(odd), list: [1, null, { a: true }] };
  const fields = Object.entries(schema.properties as Json).filter(([field]) => needed.has(field) || random.chance(0.3));
  const schemaOf = (field: string, inner: Json): Json => (given.has(field) ? withoutNull(inner) : inner);
  return Object.fromEntries(
    fields.map(([field, inner]) => [field, valid(schemaOf(field, inner), { random, idFor, name: field })]),
  );
}

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
  const made = ofFormat[schema.format ?? ""]?.() ?? (name === "url" ? "http://localhost:9/hook" : random.pick(odd));
  if (schema.pattern && !new RegExp(schema.pattern, "u").test(made)) return schema.examples?.[0] ?? random.word();
  const most = Math.min(
    schema.maxLength ?? Number.POSITIVE_INFINITY,
    schema["x-max-bytes"] ?? Number.POSITIVE_INFINITY,
  );
  if (Number.isFinite(most) && random.chance(0.05)) return "y".repeat(Math.min(most, 300_000));
  return made.slice(0, most).padEnd(schema.minLength ?? 0, "z");
}

const nested = (depth: number): unknown =>
  depth === 0 ? 1 : depth % 2 ? [nested(depth - 1)] : { a: nested(depth - 1) };

/** A value that has no business there; undefined takes the field away. Some of them a schema may take after all. */
export function hostile(schema: Json, random: Random): unknown {
  const most = schema["x-max-bytes"] ?? schema.maxLength ?? 1000;
  return random.pick<() => unknown>([
    () => undefined,
    () => null,
    () => random.pick([true, false, 0, 1, "", [], {}]),
    () => random.pick([-1, -1e15, 1e308, 0.1, -0.5, 2 ** 53 + 2, 1e21, 2 ** 31, -(2 ** 63)]),
    () => random.pick(["a\u0000b", "\u0000", "\ud800", "x\udfff", "\ud83d"]),
    () => "é".repeat(Math.ceil(Math.min(most, 400_000) / 2) + 1),
    () => "x".repeat(Math.min(most, 2_000_000) + 1),
    () => nested(random.pick([31, 32, 33, 500])),
    () => Array.from({ length: (schema.maxItems ?? 100) + 1 }, (_, n) => `a${n}@x.example`),
    () => JSON.parse('{"__proto__": {"admin": true}}'),
    () => ({ constructor: { prototype: { admin: true } }, toString: 1, hasOwnProperty: 1 }),
    () => random.pick(sql),
    () => ["ann@customer.example", "ANN@Customer.Example"],
    () => ["ann@customer.example", "аnn@customer.example"],
    () => random.pick(["a@b.example\r\nBcc: evil@x.example", "a\nb", "A <a@b.example>", "a@b.example, c@d.example"]),
    () => random.pick(["2026-02-31", "0000-00-00", "9999-12-31T23:59:60Z", "now", "+275760-09-13T00:00:00Z"]),
    () => random.pick(["00000000-0000-0000-0000-00000000000g", "%00", "null", "undefined", "NaN", "../x"]),
    () => "(".repeat(5000),
    () => random.pick([[null], [[]], [{}], [undefined, 1], Array(20_000).fill(0)]),
  ])();
}
