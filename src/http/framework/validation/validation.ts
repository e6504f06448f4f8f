import type { ErrorObject, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { TSchema } from "typebox";
import { EncodedFile } from "../body/encodedFile.ts";
import { pathTo } from "../body/parseJson.ts";
import { invalid } from "../errors.ts";
import { expected } from "./expected.ts";
import { formats } from "./formats.ts";

/** Checks a value and fills in its schema's defaults; throws invalid_request naming the first wrong field. */
export type Check = {
  (value: unknown): void;
  /** Compiles the schema in advance, step by step; otherwise it is compiled on first use. */
  compile: readonly (() => void)[];
};

export function compileCheck(schema: TSchema): Check {
  const compiled = whenFirstUsed(requests, schema);
  const check = (value: unknown): void => {
    const validate = compiled();
    if (!validate(value)) throw refusal(validate.errors ?? []);
  };
  return Object.assign(check, { compile: [() => compileParts(requests, schema), () => void compiled()] });
}

/** Makes a function that describes in a sentence what is wrong with an answer; undefined if it is as documented. Changes nothing. */
export function compileAnswerCheck(schema: TSchema): (value: unknown) => string | undefined {
  const compiled = whenFirstUsed(answers, schema);
  return (value) => {
    const validate = compiled();
    return validate(value) ? undefined : refusal(validate.errors ?? []).message;
  };
}

/**
 * Compiles a schema on first use, because each takes some 5 ms: all of them at once would take a third of the service's start time. Equal
 * schemas share the compiled function.
 */
function whenFirstUsed(judges: Judges, schema: TSchema): () => ValidateFunction {
  let compiled: ValidateFunction | undefined;
  return () => (compiled ??= compiledOnce(judges, schema));
}

function compiledOnce(judges: Judges, schema: TSchema): ValidateFunction {
  const { ajv, known } = judges;
  const text = JSON.stringify(schema);
  const compiled = known.get(text) ?? ajv.compile(withParts(judges, JSON.parse(text)));
  known.set(text, compiled);
  return compiled;
}

/** `parts`: the ids by which `ajv` knows named objects, by schema text. */
type Judges = { ajv: Ajv2020; known: Map<string, ValidateFunction>; parts: Map<string, string> };

const requests: Judges = { ajv: createAjv({ useDefaults: true }), known: new Map(), parts: new Map() };
const answers: Judges = { ajv: createAjv({}), known: new Map(), parts: new Map() };

/** Copies a schema and replaces named objects by references: ajv would otherwise compile each of them wherever it is used. */
function withParts(judges: Judges, schema: object): object {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, valueKeywords.has(keyword) ? value : reduced(value)]),
  );

  function reduced(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(reduced);
    if (typeof value !== "object" || value === null) return value;
    return isNamedObject(value) ? { $ref: partOf(judges, value) } : withParts(judges, value);
  }
}

function compileParts(judges: Judges, schema: TSchema): void {
  withParts(judges, JSON.parse(JSON.stringify(schema)));
  for (const id of judges.parts.values()) judges.ajv.getSchema(id);
}

function partOf(judges: Judges, schema: object): string {
  const text = JSON.stringify(schema);
  const known = judges.parts.get(text);
  if (known !== undefined) return known;
  const id = `part-${judges.parts.size}`;
  judges.parts.set(text, id);
  judges.ajv.addSchema(withParts(judges, schema), id);
  return id;
}

const isNamedObject = (value: object): boolean =>
  "title" in value && typeof value.title === "string" && "type" in value && value.type === "object";

/** Keywords whose values are no schemas. */
const valueKeywords = new Set(["const", "default", "enum", "examples"]);

function createAjv(options: { useDefaults?: boolean }): Ajv2020 {
  const ajv = new Ajv2020({
    ...options,
    strict: true,
    allErrors: false,
    messages: false,
    inlineRefs: false,
    verbose: true,
    discriminator: true,
    ownProperties: true,
    // The schemas are known to be valid (`test/http/framework/document.test.ts`), and V8 optimises the generated code anyway: without both
    // steps compiling takes a third of the time.
    meta: false,
    validateSchema: false,
    code: { optimize: false },
  });
  for (const [name, { test }] of Object.entries(formats)) ajv.addFormat(name, { type: "string", validate: test });
  ajv.addKeyword({
    keyword: "maxBytes",
    type: "string",
    schemaType: "number",
    validate: (limit: number, text: string) => Buffer.byteLength(text) <= limit,
  });
  ajv.addKeyword({
    keyword: "base64File",
    schemaType: "number",
    validate: (limit: number, value: unknown) => value instanceof EncodedFile && value.encodedLength <= limit,
  });
  ajv.addKeyword({
    keyword: "maxJsonBytes",
    schemaType: "number",
    validate: (limit: number, value: unknown) => Buffer.byteLength(JSON.stringify(value)) <= limit,
  });
  ajv.addKeyword({
    keyword: "atLeastOneOf",
    type: "object",
    schemaType: "array",
    validate: (names: string[], value: Record<string, unknown>) =>
      names.some((name) => typeof value[name] === "string" && value[name] !== ""),
  });
  // Says what to do instead, for the sentence of a refusal.
  ajv.addKeyword({ keyword: "remedy", schemaType: "string" });
  // Lower-cases ids and addresses, because later code compares them exactly.
  ajv.addKeyword({
    keyword: "lowercase",
    type: "string",
    schemaType: "boolean",
    modifying: true,
    compile: () => toLowerCase,
  });
  return ajv;
}

function toLowerCase(text: string, at?: { parentData: any; parentDataProperty: string | number }): boolean {
  if (at) at.parentData[at.parentDataProperty] = text.toLowerCase();
  return true;
}

/** Describes ajv's errors in one sentence. Reports the deepest error, which is the one that the caller can act on. */
function refusal(errors: ErrorObject[]) {
  const told = [...errors]
    .reverse()
    .reduce((best, error) => (isMoreTelling(error, best) ? error : best), errors.at(-1)!);
  const path = pathOf(told.instancePath);
  switch (told.keyword) {
    case "additionalProperties":
      return invalid(pathTo(path, told.params.additionalProperty), `unknown field: expected ${knownTo(told)}`);
    case "required":
      return invalid(pathTo(path, told.params.missingProperty), `required: expected ${expectedOf(told)}`);
    case "atLeastOneOf":
      return invalid(path, `at least one of ${(told.schema as string[]).join(" and ")} is required`);
    case "discriminator":
      return invalid(
        pathTo(path, told.params.tag),
        `expected ${expected(told.parentSchema as TSchema, told.params.tag)}`,
      );
    default:
      return invalid(path || whole, `expected ${expected(told.parentSchema as TSchema)}`);
  }
}

/** The name of the value as a whole in messages. */
const whole = "body";

/** Compares errors: in a union, the branch that matched deepest into the value wins; the union as a whole if none did. */
const isMoreTelling = (error: ErrorObject, best: ErrorObject): boolean => depthOf(error) > depthOf(best);

const insideKeywords = ["additionalProperties", "required", "discriminator"];
const depthOf = ({ instancePath, keyword }: ErrorObject): number =>
  instancePath.split("/").length + (insideKeywords.includes(keyword) ? 1 : 0);

const knownTo = ({ parentSchema }: ErrorObject): string =>
  Object.keys(parentSchema?.properties ?? {}).join(", ") || "none";

function expectedOf({ parentSchema, params }: ErrorObject): string {
  return expected(parentSchema?.properties?.[params.missingProperty] ?? {});
}

function pathOf(pointer: string): string {
  const steps = pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  return steps.reduce((path, step) => (/^\d+$/.test(step) ? `${path}[${step}]` : pathTo(path, step)), "");
}
