/** Makes hostile values for every field of every request from the OpenAPI document itself, so that new routes are attacked too. */

type Schema = Record<string, any>;
export type Operation = {
  method: string;
  path: string;
  scope: string | null;
  parameters: Schema[];
  body: Schema | null;
};
/** A value to put at `path` of a valid request. `ok`: the contract allows it, so only a 5xx would be wrong. */
export type HostileValue = { path: (string | number)[]; value: unknown; what: string; ok?: true };

/** Returns the document's operations, with every reference resolved. */
export function operationsOf(document: Schema): Operation[] {
  const resolve = (node: any): any => {
    if (Array.isArray(node)) return node.map(resolve);
    if (typeof node !== "object" || node === null) return node;
    if (typeof node.$ref === "string") return resolve(document.components.schemas[node.$ref.split("/").at(-1)]);
    return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, resolve(value)]));
  };
  return Object.entries(document.paths as Schema).flatMap(([path, methods]) =>
    Object.entries(methods as Schema)
      .filter(([, operation]) => operation.responses)
      .map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        scope: operation["x-scope"] ?? null,
        parameters: resolve(operation.parameters ?? []),
        body: resolve(operation.requestBody?.content["application/json"].schema ?? null),
      })),
  );
}

/** Returns every hostile value for a body of this schema, one at a time. */
export function hostileBodies(schema: Schema): HostileValue[] {
  return [
    ...(schema.required ?? []).map((name: string) => ({ path: [name], value: undefined, what: "missing" })),
    { path: ["__proto__x"], value: 1, what: "unknown" },
    ...Object.entries((schema.properties ?? {}) as Schema).flatMap(([name, field]) => hostileAt([name], field)),
  ];
}

function hostileAt(path: (string | number)[], schema: Schema): HostileValue[] {
  const branches: Schema[] = schema.anyOf ?? [schema];
  const nullable = branches.some(({ type }) => type === "null");
  const branch = branches.find(({ type }) => type !== "null") ?? schema;
  const wrong = wrongTypes(branch).map(([what, value]) => ({ path, value, what }));
  if (!nullable) wrong.push({ path, value: null, what: "null" });
  return [...wrong, ...boundsOf(path, branch)];
}

function wrongTypes(schema: Schema): [string, unknown][] {
  const all: [string, string, unknown][] = [
    ["string", "a string", "x\u0000"],
    ["integer", "a number", 1.5],
    ["boolean", "a boolean", true],
    ["array", "an array", [[[]]]],
    ["object", "an object", { constructor: { prototype: 1 } }],
  ];
  const own = schema.type ?? "object";
  return all
    .filter(([type]) => type !== own && !(own === "string" && schema.enum && type === "string"))
    .map(([, what, value]) => [what, value]);
}

function boundsOf(path: (string | number)[], schema: Schema): HostileValue[] {
  switch (schema.type) {
    case "string":
      return strings(path, schema);
    case "integer":
      return [
        ...[-1e15, -0.5, 1e308, 0.1, Number.MAX_SAFE_INTEGER + 2].map((value) => ({
          path,
          value,
          what: `number ${value}`,
        })),
        ...(schema.maximum === undefined ? [] : [{ path, value: schema.maximum + 1, what: "above the maximum" }]),
        ...(schema.minimum === undefined ? [] : [{ path, value: schema.minimum - 1, what: "below the minimum" }]),
      ];
    case "array": {
      const { maxItems, items } = schema;
      const many = Array.from({ length: (maxItems ?? 0) + 1 }, (_, n) => `a${n}@x.example`);
      return [
        ...(maxItems === undefined ? [] : [{ path, value: many, what: "one item too many" }]),
        ...hostileAt([...path, 0], items),
        ...(items.type === "object"
          ? hostileBodies(items).map((each) => ({ ...each, path: [...path, 0, ...each.path] }))
          : []),
      ];
    }
    default:
      if (schema["x-max-json-bytes"] !== undefined) return json(path, schema["x-max-json-bytes"]);
      return (schema.oneOf ?? []).length > 0 ? [{ path, value: { type: "\u0000" }, what: "an unknown kind" }] : [];
  }
}

/** Attacks through an address list, a name or a subject. */
const injections = [
  "a@b.example\r\nBcc: evil@x.example",
  "a@b.example\nX: y",
  "Name <a@b.example>",
  "a@b.example, c@d.example",
  "team: a@b.example;",
  "a@b.example;c@d.example",
  "а@xn--.example",
];

function strings(path: (string | number)[], schema: Schema): HostileValue[] {
  const bytes = schema["x-max-bytes"];
  const isOneLine = schema.format !== undefined || schema.pattern !== undefined || schema.enum !== undefined;
  const nothing = schema.minLength !== undefined || schema.format === "email-address" || schema.format === "uuid";
  return [
    { path, value: "a\u0000b", what: "NUL" },
    { path, value: "\ud800", what: "half a character" },
    ...(isOneLine ? injections.slice(0, 2).map((value) => ({ path, value, what: "a header of its own" })) : []),
    ...(schema.format === "email-address"
      ? injections.map((value) => ({ path, value, what: "more than one plain address" }))
      : []),
    ...(schema.format === "uuid"
      ? ["' or 1=1 --", "00000000-0000-0000-0000-00000000000g"].map((value) => ({ path, value, what: "no UUID" }))
      : []),
    ...(nothing ? [{ path, value: "", what: "empty" }] : []),
    ...(bytes === undefined
      ? []
      : [{ path, value: "é".repeat(bytes / 2) + "x".repeat((bytes % 2) + 1), what: "a byte too long" }]),
    { path, value: "\u202e\u2066\u0007\u001b[31m\u2028", what: "bidi and control characters", ok: true },
  ];
}

/**
 * Makes free-form JSON at its size limit, beyond it, and nested too deep. The request itself is the first level, the field the second.
 */
function json(path: (string | number)[], bytes: number): HostileValue[] {
  const nested = (depth: number): unknown => Array.from({ length: depth - 1 }).reduce((inner) => ({ a: inner }), {});
  return [
    { path, value: { a: "x".repeat(bytes - 8) }, what: "exactly at its size", ok: true },
    { path, value: { a: "x".repeat(bytes - 7) }, what: "a byte beyond its size" },
    { path, value: nested(31), what: "at the deepest", ok: true },
    { path, value: nested(32), what: "33 deep with its request" },
  ];
}

/** Copies the body with a hostile value in its place. */
export function planted(body: unknown, { path, value }: HostileValue): any {
  const copy = structuredClone(body) as any;
  let at = copy;
  for (const [index, step] of path.slice(0, -1).entries()) {
    at[step] ??= typeof path[index + 1] === "number" ? [] : {};
    at = at[step];
  }
  at[path.at(-1)!] = value;
  return copy;
}
