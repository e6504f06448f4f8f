import { rename, writeFile } from "node:fs/promises";
import { StartError } from "#src/platform/startError.ts";
import type { SettingDescription } from "#src/settings/settings.ts";

/** Variables that docker-compose.yml reads besides the settings of the service. */
export const composeVariables: readonly { name: string; meaning: string }[] = [
  { name: "POSTGRES_OWNER_PASSWORD", meaning: "The password of the role that owns the tables; it is part of a URL." },
  { name: "POSTGRES_SERVICE_PASSWORD", meaning: "The password of the service's own role; it is part of a URL." },
  { name: "COMPOSE_PROFILES", meaning: "eventstore: the event log is in EventStoreDB; empty: in PostgreSQL." },
  { name: "EVENTSTORE_ADMIN_PASSWORD", meaning: "EventStoreDB's administrator; it is part of a URL." },
  { name: "EVENTSTORE_OPS_PASSWORD", meaning: "EventStoreDB's operator." },
  { name: "EVENTSTORE_SERVICE_PASSWORD", meaning: "The service's own user of EventStoreDB; it is part of a URL." },
  {
    name: "SITE_ADDRESS",
    meaning: "What the proxy answers to, PUBLIC_URL by default; :80 behind a proxy of your own.",
  },
  {
    name: "HTTP_PUBLISH",
    meaning: "Where this machine publishes HTTP, 80 by default: a port, or an address and a port.",
  },
  { name: "HTTPS_PUBLISH", meaning: "Where it publishes HTTPS, 443 by default." },
  {
    name: "SMTP_PUBLISH",
    meaning: "Where it publishes the mail receiver, 127.0.0.1:2525 by default; 25 for mail from the internet.",
  },
  {
    name: "SMTP_IN_TLS_FOLDER",
    meaning: "A folder of this machine that is /mail-certificate in the service's container.",
  },
  { name: "CADDY_VERSION", meaning: "The tag of the proxy's image." },
  { name: "HAPROXY_VERSION", meaning: "The tag of the image that leads mail to the instances." },
  { name: "EVENTSTORE_VERSION", meaning: "The tag of EventStoreDB's image." },
];

/** Makes the text of `.env.example`: every setting with its meaning and its default, none of them set. */
export function envExample(settings: readonly SettingDescription[]): string {
  const ofService = settings.flatMap(({ name, takes, unit, default: usual, meaning }) => [
    `# ${meaning}`,
    `# Takes ${takes}${unit === undefined ? "" : ` (${unit})`}. Default: ${usual}.`,
    `#${name}=`,
    "",
  ]);
  const ofCompose = composeVariables.flatMap(({ name, meaning }) => [`# ${meaning}`, `#${name}=`, ""]);
  return [
    "# Every setting. `npm run setup` writes a `.env` with those that an installation needs, and with secrets of its own.",
    "# `npm run documents` writes this file from src/settings/settings.ts.",
    "",
    ...ofService,
    "# For docker-compose.yml alone:",
    "",
    ...ofCompose,
  ].join("\n");
}

/** Writes the file, readable by its owner only. Throws StartError if it exists, unless it may be replaced. */
export async function writeEnvFile(
  file: string,
  values: Record<string, string>,
  { overwrite }: { overwrite: boolean },
): Promise<void> {
  const lines = Object.entries(values).map(([name, value]) => `${name}=${quoted(name, value)}\n`);
  const text = `# Written by npm run setup. It holds secrets: keep it readable for its owner alone, and with your backups.\n${lines.join("")}`;
  const target = overwrite ? `${file}.new` : file;
  await writeFile(target, text, { mode: 0o600, flag: "wx" }).catch((error) => {
    throw error.code === "EEXIST" ? fileIsThere(target) : error;
  });
  if (overwrite) await rename(target, file);
}

export const fileIsThere = (file: string): StartError =>
  new StartError(
    `${file} is there already. --overwrite replaces it, and keeps its secrets and all that is not asked for.`,
  );

/** Quotes a value for both dotenv and Compose: between single quotes no character is special. */
function quoted(name: string, value: string): string {
  if (/^[\w@:/.,+=-]*$/.test(value)) return value;
  if (/['\r\n]/.test(value)) throw new StartError(`${name} has a quotation mark or a line break: percent-encode it.`);
  return `'${value}'`;
}
