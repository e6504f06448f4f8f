import { Ajv2020 } from "ajv/dist/2020.js";
import type { Document } from "#src/http/framework/openapi/openapi.ts";
import { formats } from "#src/http/framework/validation/formats.ts";

type Json = Record<string, any>;
export type CheckedAnswer = { status: number; headers: Record<string, unknown>; text: string };

/** Checks requests and answers on the wire against the OpenAPI document, independently of the service's own validator. */
export function createDocumentCheck(document: Document) {
  const ajv = new Ajv2020({ strict: false, logger: false });
  for (const [name, { test }] of Object.entries(formats)) ajv.addFormat(name, { type: "string", validate: test });
  ajv.addKeyword({
    keyword: "x-max-bytes",
    type: "string",
    schemaType: "number",
    validate: (limit: number, text: string) => Buffer.byteLength(text) <= limit,
  });
  ajv.addKeyword({
    keyword: "x-max-json-bytes",
    schemaType: "number",
    validate: (limit: number, value: unknown) => Buffer.byteLength(JSON.stringify(value)) <= limit,
  });
  ajv.addSchema({ $id: "document", components: { schemas: document.components.schemas } });
  const compiled = new Map<unknown, (value: unknown) => string | undefined>();

  function checkOf(schema: Json): (value: unknown) => string | undefined {
    let check = compiled.get(schema);
    if (!check) {
      const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')));
      check = (value) => (validate(value) ? undefined : ajv.errorsText(validate.errors));
      compiled.set(schema, check);
    }
    return check;
  }

  return {
    /** True if a query parameter's schema accepts this text. */
    takes(schema: Json, text: string): boolean {
      const number = schema.type === "integer" && /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
      const flag = schema.type === "boolean" && /^(true|false)$/.test(text) ? text === "true" : undefined;
      return checkOf(schema)(number ?? flag ?? text) === undefined;
    },
    /** Says how an answer differs from the document's description of its operation (`GET /v1/drafts/{id}`); undefined if it does not. */
    faultOf(line: string, { status, headers, text }: CheckedAnswer): string | undefined {
      const [method, path] = line.split(" ") as [string, string];
      const response = document.paths[path]?.[method.toLowerCase()]?.responses[status];
      if (!response) return `${status} is not among what ${line} may answer`;
      const type = String(headers["content-type"] ?? "").split(";")[0] as string;
      const schema = response.content?.["application/json"]?.schema;
      if (!schema) return undefined;
      if (type !== "application/json") return `${line} answered ${status} as ${type}`;
      for (const name of Object.keys(response.headers ?? {})) {
        if (
          /^(Retry-After|WWW-Authenticate|X-Request-Id|ETag)$/.test(name) &&
          headers[name.toLowerCase()] === undefined
        )
          return `${line} answered ${status} without ${name}`;
      }
      const body = JSON.parse(text);
      const fault = checkOf(schema)(body);
      if (fault !== undefined) return `${line} answered ${status}: ${fault}`;
      const unnamed = status >= 400 && !response.description.includes(`\`${body.error}\``);
      return unnamed ? `${line} answered ${status} ${body.error}, which it does not name` : undefined;
    },
  };
}
