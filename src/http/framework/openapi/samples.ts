import { exampleOf, type Schemas } from "./examples.ts";

type Json = Record<string, any>;
export type CodeSample = { lang: string; label: string; source: string };

/** Environment variable that holds the API key in all samples, so that no key gets into a shell history. */
const keyVariable = "COUNTERSIGN_KEY";

type Described = { method: string; path: string; operation: Json; components: { schemas: Schemas }; serverUrl: string };
type SampleCall = { method: string; url: string; body: unknown; mediaType: string };

/** Runnable samples of the operation for curl, JavaScript and Python, with example values from its schemas. */
export function codeSamples({ method, path, operation, components, serverUrl }: Described): CodeSample[] {
  const { schemas } = components;
  const schema = operation.requestBody?.content["application/json"].schema;
  const success = Object.keys(operation.responses).find((status) => status < "300") as string;
  const call: SampleCall = {
    method: method.toUpperCase(),
    url: serverUrl + filled(path, operation.parameters, schemas),
    body: schema && exampleOf(schema, schemas),
    mediaType: Object.keys(operation.responses[success].content)[0] as string,
  };
  const needsKey = operation.security.length > 0;
  return [
    { lang: "Shell", label: "curl", source: curl(call, needsKey) },
    { lang: "JavaScript", label: "JavaScript", source: javascript(call, needsKey) },
    { lang: "Python", label: "Python", source: python(call, needsKey) },
  ];
}

/** The path and its required query parameters, with example values. */
function filled(path: string, parameters: Json[], schemas: Schemas): string {
  const shownFor = (parameter: Json): string =>
    encodeURIComponent(String(parameter.example ?? exampleOf(parameter.schema, schemas, parameter.name)));
  const where = path.replaceAll(/\{(\w+)\}/g, (_, name) =>
    shownFor(parameters.find((each) => each.in === "path" && each.name === name) as Json),
  );
  const query = parameters.filter((each) => each.in === "query" && each.required);
  return query.length === 0 ? where : `${where}?${query.map((each) => `${each.name}=${shownFor(each)}`).join("&")}`;
}

function curl({ method, url, body, mediaType }: SampleCall, needsKey: boolean): string {
  const file = isJson(mediaType) || isStream(mediaType) ? [] : [`--output ${fileName(mediaType)}`];
  const words = [
    `curl -sS${isStream(mediaType) ? "N" : ""}${usual(method, body) ? "" : ` -X ${method}`} ${shell(url)}`,
    ...(needsKey ? [`-H "Authorization: Bearer $${keyVariable}"`] : []),
    ...(body === undefined ? [] : ['-H "Content-Type: application/json"', `-d ${shell(indented(body))}`]),
    ...file,
  ];
  return words.join(" \\\n  ");
}

/** True if curl uses this method by default. */
const usual = (method: string, body: unknown): boolean => method === (body === undefined ? "GET" : "POST");

const shell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const indented = (value: unknown): string => JSON.stringify(value, null, 2);

function javascript({ method, url, body, mediaType }: SampleCall, needsKey: boolean): string {
  const headers = [
    ...(needsKey ? [`Authorization: \`Bearer \${env.${keyVariable}}\``] : []),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
  ];
  const options = [
    ...(method === "GET" ? [] : [`method: "${method}",`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(", ")} },`]),
    ...(body === undefined ? [] : [`body: JSON.stringify(${indented(body).replaceAll("\n", "\n  ")}),`]),
  ];
  const imports = [
    ...(isJson(mediaType) || isStream(mediaType) ? [] : ['import { writeFile } from "node:fs/promises";']),
    ...(needsKey ? ['import { env } from "node:process";'] : []),
  ];
  const start = imports.length === 0 ? "" : `${imports.join("\n")}\n\n`;
  const call = `${start}const response = await fetch(${JSON.stringify(url)}, {\n${options.map((line) => `  ${line}\n`).join("")}});`;
  if (isJson(mediaType)) return `${call}\nconsole.log(response.status, await response.json());`;
  if (isStream(mediaType)) return `${call}\nfor await (const chunk of response.body) process.stdout.write(chunk);`;
  return `${call}\nawait writeFile("${fileName(mediaType)}", Buffer.from(await response.arrayBuffer()));`;
}

function python({ method, url, body, mediaType }: SampleCall, needsKey: boolean): string {
  const headers = [
    ...(needsKey ? [`"Authorization": "Bearer " + os.environ["${keyVariable}"]`] : []),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
  ];
  const reading = isJson(mediaType)
    ? ["    print(response.status, json.load(response))"]
    : isStream(mediaType)
      ? ["    for line in response:", '        print(line.decode(), end="")']
      : [`    open("${fileName(mediaType)}", "wb").write(response.read())`];
  return [
    "import json, os, urllib.request",
    "",
    "request = urllib.request.Request(",
    `    ${JSON.stringify(url)},`,
    `    method="${method}",`,
    ...(headers.length === 0 ? [] : [`    headers={${headers.join(", ")}},`]),
    ...(body === undefined ? [] : [`    data=json.dumps(${literal(body, 1)}).encode(),`]),
    ")",
    "with urllib.request.urlopen(request) as response:",
    ...reading,
  ].join("\n");
}

/** Formats a JSON value as a Python literal. */
function literal(value: unknown, depth: number): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = "    ".repeat(depth + 1);
  const end = "    ".repeat(depth);
  const items = Array.isArray(value)
    ? value.map((item) => literal(item, depth + 1))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${literal(item, depth + 1)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return items.length === 0
    ? open + close
    : `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${end}${close}`;
}

const isJson = (mediaType: string): boolean => mediaType === "application/json";
const isStream = (mediaType: string): boolean => mediaType === "text/event-stream";
const fileName = (mediaType: string): string => (mediaType === "message/rfc822" ? "message.eml" : "attachment.bin");
