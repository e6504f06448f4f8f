import { scopes } from "../keys/scopes.ts";
import { isRaw, type Route } from "../route.ts";
import { ErrorBody } from "./errorBody.ts";
import { errorsOf } from "./errorCodes.ts";
import { codeSamples } from "./samples.ts";

type Json = Record<string, any>;
export type Document = {
  openapi: string;
  info: Json;
  servers: Json[];
  tags: Json[];
  paths: Record<string, Json>;
  components: Json;
};

/** `description`: Markdown. */
export type Info = { title: string; version: string; summary?: string; description: string; serverUrl: string };

/** Features around the routes that are documented in every answer: rate limits and idempotent replay. */
export type Wired = { idempotency?: boolean; limits?: boolean };

/** The OpenAPI 3.1 document, made from the schemas that check requests and answers. */
export function openApi(routes: readonly Route[], { serverUrl, ...info }: Info, wired: Wired = {}): Document {
  const components = createComponents();
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, components, wired) };
  }
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, described] of Object.entries(methods)) {
      described["x-codeSamples"] = codeSamples({ method, path, operation: described, components, serverUrl });
    }
  }
  return {
    openapi: "3.1.0",
    info,
    servers: [{ url: serverUrl }],
    tags: [...new Set(routes.map(tagOf))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "svc_live_ and 32 letters or digits",
          description: scopeList(),
        },
      },
      headers: sharedHeaders,
      schemas: components.schemas,
    },
  };
}

const scopeList = (): string =>
  `An API key. Its scopes:\n\n${Object.entries(scopes)
    .map(([name, does]) => `- \`${name}\`: ${does}`)
    .join("\n")}`;

const tagOf = ({ path }: Route): string => path.split("/")[2] ?? "other";

/** `GET /v1/drafts/:id/versions` becomes `get_drafts_id_versions`. */
const operationIdOf = ({ method, path }: Route): string =>
  [method.toLowerCase(), ...path.split("/").slice(2)]
    .join("_")
    .replaceAll(/[:-]/g, (mark) => (mark === "-" ? "_" : ""));

function operation(route: Route, components: Components, { idempotency = false, limits = false }: Wired): Json {
  const { scope, options } = route;
  const needs = scope === null ? "Needs no key." : scope === "any" ? "Any key." : `Scope: \`${scope}\`.`;
  return {
    operationId: operationIdOf(route),
    tags: [tagOf(route)],
    summary: options.summary,
    description: [options.description, `${needs} Rate limit class: ${route.limit}.`].filter(Boolean).join("\n\n"),
    security: scope === null ? [] : [{ apiKey: [] }],
    ...(scope === null ? {} : { "x-scope": scope }),
    parameters: parametersOf(route, components, idempotency),
    ...requestBodyOf(route, components),
    responses: {
      [options.status ?? 200]: successOf(route, components, limits),
      ...refusalsOf(route, components, limits),
    },
  };
}

function parametersOf(route: Route, components: Components, idempotent: boolean): Json[] {
  const inPath = route.paramNames.map((name) => ({
    name,
    in: "path",
    required: true,
    schema: components.place((route.options.params?.properties as Json)?.[name] ?? { type: "string", format: "uuid" }),
  }));
  const required = new Set(route.query.required as string[] | undefined);
  const inQuery = Object.entries(route.query.properties as Json).map(([name, { description, ...schema }]) => ({
    name,
    in: "query",
    required: required.has(name) && schema.default === undefined,
    ...(description === undefined ? {} : { description }),
    schema: components.place(schema),
  }));
  return [...inPath, ...inQuery, ...headersOf(route, idempotent)];
}

function headersOf(route: Route, idempotent: boolean): Json[] {
  const headers: Json[] = [];
  if (route.options.ifMatch) {
    headers.push({
      name: "If-Match",
      in: "header",
      required: false,
      description: "The expected current version, in quotes; another version answers 412.",
      schema: { type: "string" },
      example: '"3"',
    });
  }
  if (route.options.lastEventId) {
    headers.push({
      name: "Last-Event-ID",
      in: "header",
      required: false,
      description: "The id of the last event that was received; it takes precedence over `after`.",
      schema: { type: "string" },
    });
  }
  if (idempotent && route.method === "POST" && route.scope !== null) {
    headers.push({
      name: "Idempotency-Key",
      in: "header",
      required: false,
      description:
        "A key of your choice. For 24 hours, a repeated request with the same key gets the first response again.",
      schema: { type: "string", minLength: 1, maxLength: 255 },
    });
  }
  return headers;
}

function requestBodyOf({ body }: Route, components: Components): Json {
  if (Object.keys((body as Json).properties ?? {}).length === 0) return {};
  const schema = components.place(body as Json);
  const { required = [] } = schema.$ref ? components.schemas[schema.$ref.split("/").at(-1)]! : schema;
  return { requestBody: { required: required.length > 0, content: { "application/json": { schema } } } };
}

function successOf({ options, method }: Route, components: Components, limited: boolean): Json {
  const { answers } = options;
  const headers: Json = headersOfAnswer(options.status ?? 200, limited);
  if (options.etag) headers.ETag = { description: "The version, for If-Match.", schema: { type: "string" } };
  if (isRaw(answers)) return { description: answers.description, headers, content: { [answers.mediaType]: {} } };
  const description =
    options.status === 202 ? "Accepted; the work is done shortly." : method === "DELETE" ? "Deleted." : "Success.";
  return { description, headers, content: { "application/json": { schema: components.place(answers as Json) } } };
}

/** Headers of every answer, and headers of some. */
const sharedHeaders: Record<string, Json> = {
  RequestId: { description: "Identifies this request, also in the service's logs.", schema: { type: "string" } },
  RetryAfter: { description: "Seconds to wait before retrying.", schema: { type: "integer", minimum: 0 } },
  Challenge: { description: "Bearer.", schema: { type: "string" } },
  RateLimit: {
    description:
      "The remaining requests of this class, and the seconds until the limit resets (RateLimit headers, draft 8).",
    schema: { type: "string" },
  },
  PlanStatus: {
    description: "The workspace's plan_status. past_due: a payment is due, see the portal.",
    schema: { type: "string" },
  },
  RateLimitPolicy: { description: "The limit itself.", schema: { type: "string" } },
};
const header = (name: keyof typeof sharedHeaders): Json => ({ $ref: `#/components/headers/${name}` });

function headersOfAnswer(status: number, limited: boolean): Json {
  return {
    "X-Request-Id": header("RequestId"),
    ...(limited && status !== 401 && { RateLimit: header("RateLimit"), "RateLimit-Policy": header("RateLimitPolicy") }),
    ...((status === 429 || status === 503) && { "Retry-After": header("RetryAfter") }),
    ...(status === 402 && { "Plan-Status": header("PlanStatus") }),
    ...(status === 401 && { "WWW-Authenticate": header("Challenge") }),
  };
}

function refusalsOf(route: Route, components: Components, limited: boolean): Json {
  const errors = errorsOf(route);
  const answered = [...new Set(errors.map(({ status }) => status))];
  const schema = components.place(ErrorBody as Json);
  return Object.fromEntries(
    answered.map((status) => {
      const named = errors
        .filter((error) => error.status === status)
        .map(({ code, conflict }) => `\`${code}\`${conflict === undefined ? "" : ` (${conflict})`}`);
      const headers = headersOfAnswer(status, limited);
      return [status, { description: named.join(", "), headers, content: { "application/json": { schema } } }];
    }),
  );
}

type Components = { schemas: Record<string, Json>; place(schema: Json): Json };

/** Schemas with a title become components; the same title twice must mean the same schema. */
function createComponents(): Components {
  const schemas: Record<string, Json> = {};
  const origins = new Map<string, string>();

  function place(schema: Json): Json {
    if (typeof schema.title !== "string") return copied(schema);
    const { title } = schema;
    const origin = JSON.stringify(schema);
    if ((origins.get(title) ?? origin) !== origin) throw new Error(`two different schemas have the title ${title}`);
    if (!origins.has(title)) {
      origins.set(title, origin);
      schemas[title] = copied(schema);
    }
    return { $ref: `#/components/schemas/${title}` };
  }

  /** Copies a schema for the document. A field with a default becomes optional: the validator fills it in, although `required` lists it. */
  function copied(schema: Json): Json {
    const copy: Json = {};
    for (const [name, value] of Object.entries(schema)) Object.assign(copy, documented(name, within(name, value)));
    if (copy.required)
      copy.required = copy.required.filter((name: string) => copy.properties?.[name]?.default === undefined);
    if (copy.required?.length === 0) delete copy.required;
    return copy;
  }

  function within(name: string, value: any): unknown {
    if (name === "properties" || name === "patternProperties") {
      return Object.fromEntries(Object.entries(value as Json).map(([key, schema]) => [key, place(schema)]));
    }
    if (name === "anyOf" || name === "oneOf" || name === "allOf") return (value as Json[]).map(place);
    return name === "items" || (name === "additionalProperties" && typeof value === "object") ? place(value) : value;
  }

  return { schemas, place };
}

/** Translates keywords of this project's validator to those of OpenAPI. */
function documented(name: string, value: unknown): Json {
  switch (name) {
    case "lowercase":
    case "remedy":
      return {};
    case "base64File":
      return { type: "string", maxLength: value, contentEncoding: "base64" };
    case "maxBytes":
      return { "x-max-bytes": value };
    case "maxJsonBytes":
      return { "x-max-json-bytes": value };
    case "atLeastOneOf":
      return { anyOf: (value as string[]).map((field) => ({ required: [field] })) };
    default:
      return { [name]: value };
  }
}
