import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** One import in the source tree. `target`: a path from the root for our own files, else the name of the package or builtin. */
export type Import = { file: string; target: string; own: boolean };

const pattern =
  /^(?:import|export)\s+(?:type\s+)?(?:[\w*\s{},$]+?\sfrom\s+)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']\s*\)/gm;
const aliases: Record<string, string> = {
  "#streams/": "streams/",
  "#projections/": "projections/",
  "#src/": "src/",
  "#test/": "test/",
};

export function sourceFiles(...folders: string[]): string[] {
  return folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
    )
    .filter((file) => /\.(ts|mjs)$/.test(file));
}

export const textOf = (file: string): string => readFileSync(join(root, file), "utf8");

export const importsOf = (file: string, text = textOf(file)): Import[] =>
  [...text.matchAll(pattern)].map(([, stated, dynamic]) => resolved(file, (stated ?? dynamic)!));

function resolved(file: string, specifier: string): Import {
  const alias = Object.keys(aliases).find((prefix) => specifier.startsWith(prefix));
  if (alias) return { file, target: aliases[alias] + specifier.slice(alias.length), own: true };
  if (specifier.startsWith("."))
    return { file, target: relative(root, join(root, dirname(file), specifier)), own: true };
  return { file, target: packageName(specifier), own: false };
}

/** Returns `nodemailer` for `nodemailer/lib/shared`, and `@eventstore/db-client` unchanged. */
const packageName = (specifier: string): string =>
  specifier.startsWith("node:")
    ? specifier
    : specifier
        .split("/")
        .slice(0, specifier.startsWith("@") ? 2 : 1)
        .join("/");
