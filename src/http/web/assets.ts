import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Router } from "express";
import { pageStyle } from "#src/html/style.ts";

const { resolve } = createRequire(import.meta.url);
const folder = `${fileURLToPath(import.meta.resolve("#src/http/web/assets"))}/`;

/** The files that the console's pages load: one stylesheet, an icon, and scripts in this order. All are served by this process. */
export type Assets = {
  /** The URLs of the files, as pages refer to them. */
  style: string;
  icon: string;
  scripts: readonly string[];
  router: Router;
};

const own = (ending: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(ending))
    .sort();

const read = (name: string): string => readFileSync(`${folder}${name}`, "utf8");

/** The URLs contain a hash of the content, so that browsers may cache the files forever. */
export function consoleAssets(): Assets {
  // console.css first, so that the stylesheets of single pages can override it.
  const sheets = ["console.css", ...own(".css").filter((name) => name !== "console.css")];
  const style = asset("console.css", [pageStyle, ...sheets.map(read)].join("\n"));
  const scripts = [
    asset("htmx.js", readFileSync(resolve("htmx.org/dist/htmx.min.js"), "utf8")),
    ...own(".js").map((name) => asset(name, read(name))),
  ];
  const icon = asset("icon.svg", read("icon.svg"));
  const router = Router({ caseSensitive: true, strict: true });
  for (const { path, text, type } of [style, icon, ...scripts]) {
    router.get(path, (_, response) => {
      response.set({ "Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff" });
      response.type(type).send(text);
    });
  }
  // Browsers ask for this path on pages that name no icon.
  router.get("/favicon.ico", (_, response) => {
    response.set({ "Cache-Control": "public, max-age=86400", "X-Content-Type-Options": "nosniff" });
    response.type(icon.type).send(icon.text);
  });
  return { style: style.path, icon: icon.path, scripts: scripts.map(({ path }) => path), router };
}

const types: Record<string, string> = { ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml" };

function asset(name: string, text: string): { path: string; text: string; type: string } {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return {
    path: `/console/assets/${hash}/${name}`,
    text,
    type: types[name.slice(name.lastIndexOf("."))] as string,
  };
}
