import type { ErrorObject, ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { TSchema } from "typebox";
import { EncodedFile } from "../body/encodedFile.ts";
import { pathTo } from "../body/parseJson.ts";
import { invalid } from "../errors.ts";
import { expected } from "./expected.ts";
import { formats } from "./formats.ts";

/** Judges a value and completes it with its schema's defaults; throws invalid_request naming the first field that is wrong. */
export type Check = {
  (value: unknown): void;
  /** Compile its schema now, one step after the other, where it would be when it is first used. */
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

/** What is wrong with an answer of ours, in one sentence; undefined if it is as documented. Changes nothing. */
export function compileAnswerCheck(schema: TSchema): (value: unknown) => string | undefined {
  const compiled = whenFirstUsed(answers, schema);
  return (value) => {
    const validate = compiled();
    return validate(value) ? undefined : refusal(validate.errors ?? []).message;
  };
}

/**
 * Compiling takes some 5 ms a schema: all of them at once would take a third of the service's start. Schemas of the same text share what is
 * compiled.
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

/** `parts`: the ids under which `ajv` knows objects with a name, by their text. */
type Judges = { ajv: Ajv2020; known: Map<string, ValidateFunction>; parts: Map<string, string> };

const requests: Judges = { ajv: createAjv({ useDefaults: true }), known: new Map(), parts: new Map() };
const answers: Judges = { ajv: createAjv({}), known: new Map(), parts: new Map() };

/** The same schema, in which objects that have a name are referred to: ajv would otherwise compile each of them at every place where it is used. */
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

/** What they hold is no schema. */
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
    // That each is a valid schema is known before (`test/http/framework/document.test.ts`), and what V8 leaves out anyway need not be left out
    // by ajv: a third of the time to compile remains.
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
  // What to do instead, for the sentence of a refusal.
  ajv.addKeyword({ keyword: "remedy", schemaType: "string" });
  // Ids and addresses are compared by their letters everywhere after this.
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

/** The plainest sentence about what ajv found. The deepest error is the one that the caller can act on. */
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

/** How a message names the value as a whole. */
const whole = "body";

/** Of a union, the branch that got furthest into the value; the union as a whole if none got inside. */
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
