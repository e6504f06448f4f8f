type Json = Record<string, any>;

/** Fields whose form allows no free text, although their schema does not say so. */
const noWords: Record<string, string> = {
  "domains domain_name": "a name of DNS",
  "domains inbound_subdomain": "a name of DNS",
  "drafts attachments[0].content": "base64",
  "drafts attachments[0].content_type": "a media type",
  "rules trigger_event": "one of a list",
  "billing plan": "one of a list",
  "billing interval": "one of a list",
  "webhooks url": "an address",
};
const ownForms = ["uuid", "email-address", "local-part", "date-time", "date-or-time"];

/** Names a field by the noun that stores it, whichever request writes it: `POST /v1/emails/send` makes a draft, too. */
export function nameOf(path: string, field: string): string {
  const noun = path.split("/")[2] as string;
  if (noun === "emails") return `drafts ${field === "subject" ? "subject_override" : field}`;
  return `${noun} ${field.replace(/^rule\./, "")}`;
}

/** Returns every request field that takes free text, such as `rules name`, without ids, secrets and channel addresses. */
export function freeStrings(document: Json): string[] {
  const resolve = (schema: Json): Json =>
    schema.$ref
      ? schema.$ref
          .slice(2)
          .split("/")
          .reduce((at: Json, key: string) => at[key], document)
      : schema;
  function* within(given: Json, path: string): Generator<string> {
    const schema = resolve(given);
    if ([schema.type].flat().includes("string") && isFree(schema)) yield path;
    const branches: Json[] = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
    for (const branch of branches) yield* within(branch, path);
    for (const [name, inner] of Object.entries<Json>(schema.properties ?? {}))
      yield* within(inner, path === "" ? name : `${path}.${name}`);
    if (schema.items) yield* within(schema.items, `${path}[0]`);
  }
  const found = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.values<Json>(methods).flatMap(({ requestBody }) => {
      const schema = requestBody?.content?.["application/json"]?.schema;
      return schema ? [...within(schema, "")].map((field) => nameOf(path, field)) : [];
    }),
  );
  return [...new Set(found)].filter((name) => !(name in noWords) && !name.includes(".config."));
}

const isFree = ({ format, pattern, enum: listed, const: only }: Json): boolean =>
  !ownForms.includes(format) && pattern === undefined && listed === undefined && only === undefined;
