import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { pino } from "pino";
import { projections } from "#projections/index.ts";
import { createApp } from "#src/http/app.ts";
import { documents, pageFiles, withTables } from "#src/http/docs/documents.ts";
import { renderMarkdown } from "#src/http/docs/markdown.ts";
import { allTables } from "#src/http/docs/tables.ts";
import { unauthorized } from "#src/http/framework/keys/authenticate.ts";
import { crashPoints } from "#src/platform/crashPoints.ts";
import { settingDescriptions } from "#src/settings/settings.ts";
import { streams } from "#streams/index.ts";
import { realRoutes } from "#test/support/realRoutes.ts";

const elsewhere = new Set(["node_modules", "data", "data-test"]);

/** Every document of the project, by its path from the root. */
function documentsIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return elsewhere.has(entry.name) || entry.name.startsWith(".") ? [] : documentsIn(path);
    return entry.name.endsWith(".md") ? [path] : [];
  });
}

const text = (path: string): string => readFileSync(path, "utf8");

const anchors = new Map<string, Set<string>>();
function anchorsOf(path: string): Set<string> {
  const known =
    anchors.get(path) ??
    new Set([...renderMarkdown(text(path)).markup.matchAll(/<h\d id="([^"]+)"/g)].map(([, id = ""]) => id));
  anchors.set(path, known);
  return known;
}

/** Without blocks of code: what stands in them is an example. */
const proseOf = (path: string): string => text(path).replaceAll(/^```[^\n]*\n[\s\S]*?^```/gm, "");

type Link = { target: string; anchor: string };
const linksOf = (path: string): Link[] =>
  [...proseOf(path).matchAll(/\[[^\]]+\]\(([^)#\s]*)(?:#([^)\s]+))?\)/g)]
    .map(([, target = "", anchor = ""]) => ({ target, anchor }))
    .filter(({ target }) => !/^(https?:|mailto:)/.test(target));

/** A file or a folder of the project that a document names in code: `src/program.ts`, `handle.ts`, `projections/`. */
const isPath = (code: string): boolean =>
  /^[\w.-]+(\/[\w.-]+)*\.(ts|mjs|md|sql|json|js|css|yml)$/.test(code) || /^([\w-]+\/)+$/.test(code);
const pathsOf = (path: string): string[] =>
  [...proseOf(path).matchAll(/`([^`\n]+)`/g)].map((match) => match[1] as string).filter(isPath);

/** `test/x.test.ts` *a title*, *another one*. */
const testsNamedIn = (document: string): { file: string; title: string }[] =>
  [...document.matchAll(/`(test\/[\w./-]+\.test\.ts)`((?:,? \*[^*\n]+\*)+)/g)].flatMap(([, file = "", titles = ""]) =>
    [...titles.matchAll(/\*([^*]+)\*/g)].map((match) => ({ file, title: match[1] as string })),
  );

const files = documentsIn(".");
/** Folders that a start makes, such as `dist/`: a fresh clone has none of them. */
const comeAndGo = text(".gitignore").split("\n");
/** Names of files in an archive with evidence. */
const archived = ["verify.mjs", "content.json", "proofs/", "entries/"];
const rooms = ["streams", "projections", "src", "scripts", "test"];
const namesBelow = (folder: string): string[] => readdirSync(folder, { recursive: true, encoding: "utf8" });
const routes = realRoutes();

describe("the documents", () => {
  it("each room has a document", () => {
    expect(files).to.include.members(["README.md", ...rooms.map((room) => `${room}/README.md`)]);
  });

  for (const file of files) {
    it(`the links of ${file} lead to existing targets`, () => {
      const dead = linksOf(file).filter(({ target, anchor }) => {
        const path = target === "" ? file : join(dirname(file), target);
        if (!existsSync(path)) return true;
        return anchor !== "" && !(path.endsWith(".md") && anchorsOf(path).has(anchor));
      });
      expect(dead).to.deep.equal([]);
    });

    it(`the files that ${file} names exist`, () => {
      const folder = dirname(file);
      const below = folder === "." ? rooms.flatMap(namesBelow) : namesBelow(folder);
      const isThere = (path: string): boolean =>
        comeAndGo.includes(path) ||
        archived.includes(path) ||
        existsSync(path) ||
        existsSync(join(folder, path)) ||
        below.some((each) => `/${each}`.endsWith(`/${path.replace(/\/$/, "")}`));
      expect(pathsOf(file).filter((path) => !isThere(path))).to.deep.equal([]);
    });
  }

  it("README.md is one page that names every room and the folders of src/", () => {
    const readme = text("README.md");
    expect(readme.split("\n").length).to.be.at.most(151);
    const folders = readdirSync("src", { withFileTypes: true }).filter((entry) => entry.isDirectory());
    for (const room of [...rooms, ...folders.map(({ name }) => `src/${name}`)]) expect(readme).to.include(`${room}/`);
    expect(pathsOf("README.md").length).to.be.above(60);
  });

  it("documents name tests by titles that exist", () => {
    const named = files.flatMap((file) => testsNamedIn(text(file)));
    expect(named.length).to.be.above(15);
    expect(named.filter(({ file, title }) => !text(file).includes(title))).to.deep.equal([]);
  });

  it("the documents have the tables that the code makes (npm run documents writes them)", () => {
    const tables = allTables({ routes, settings: settingDescriptions });
    for (const file of pageFiles) {
      const written = readFileSync(file, "utf8");
      expect(withTables(written, tables, true) === written, file.pathname).to.equal(true);
    }
    expect(() => withTables("<!-- table: nonsense -->\n<!-- end of table -->", tables)).to.throw("nonsense");
  });

  it("the documents describe every kind of stream, every read model and every process", () => {
    for (const { decider } of Object.values(streams)) {
      expect(text("streams/README.md")).to.include(`\`${decider.category}-<`);
    }
    for (const { name } of projections) expect(text("projections/README.md")).to.include(`\n| \`${name}\` |`);
    for (const [, name] of text("src/processes/index.ts").matchAll(/^ {2}(\w+)\(deps(?!.*\.map)/gm)) {
      expect(text("src/processes/README.md")).to.include(`\`${name}\``);
    }
  });

  it("the documents name every command and every crash point", () => {
    const { scripts } = JSON.parse(text("package.json")) as { scripts: Record<string, string> };
    const reference = text("src/http/docs/reference.md");
    for (const name of Object.keys(scripts)) {
      expect(reference, name).to.match(new RegExp(`\`npm (run (-s )?)?${name}\\b`));
    }
    for (const point of crashPoints) expect(text("test/README.md"), point).to.include(`\`${point}\``);
  });
});

describe("comments", () => {
  const sources = ["streams", "projections", "src", "scripts", "test"]
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)))
    .filter((path) => /\.(ts|mjs|sql)$/.test(path) && path !== "test/documents.test.ts")
    .map((path) => [path, text(path)] as const);

  it("comments cite no numbered document that does not exist", () => {
    const cited = /\b(decisions|interface|design) \d|\(design: |\b(interface|design)\.md\b/;
    expect(sources.filter(([, source]) => cited.test(source)).map(([path]) => path)).to.deep.equal([]);
  });

  it("comments name documents, sections and invariants that exist", () => {
    const named = sources.flatMap(([path, source]) =>
      [...source.matchAll(/((?:[\w]+\/)*\w+\.md)(?:, (?:"([^"\n]+)"|invariant (\d+)))/g)].map(
        ([, file = "", section, invariant]) => ({
          ...{ path, file, section, invariant },
        }),
      ),
    );
    expect(named.length).to.be.above(8);
    const missing = named.filter(({ file, section, invariant }) => {
      if (!existsSync(file)) return true;
      return section
        ? !new RegExp(`^#+ ${section}`, "m").test(text(file))
        : !new RegExp(`^${invariant}\\. \\*\\*`, "m").test(text(file));
    });
    expect(missing).to.deep.equal([]);
  });
});

describe("the pages under /docs", () => {
  let server: Server;
  let url: string;
  before(async () => {
    const app = createApp({
      routes,
      settings: settingDescriptions,
      info: { title: "Countersign", version: "1", description: "", serverUrl: "http://localhost:8080" },
      logger: pino({ level: "silent" }),
      authenticate: async () => {
        throw unauthorized();
      },
    });
    server = createServer(app).listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());

  const page = async (path: string) => {
    const answer = await fetch(url + path);
    return { status: answer.status, headers: answer.headers, html: await answer.text() };
  };
  const hrefs = (html: string): string[] => [...html.matchAll(/\b(?:href|src)="([^"]+)"/g)].map((match) => match[1]!);

  const nouns = [...new Set(routes.map(({ path }) => path.split("/")[2]))];
  const pages = [...Object.keys(documents), ...nouns.map((noun) => `api/${noun}`)];
  for (const path of ["/docs", ...pages.map((name) => `/docs/${name}`)]) {
    it(`the page ${path} needs no key, loads nothing from elsewhere, and has no dead link`, async () => {
      const { status, headers, html } = await page(path);
      expect(status).to.equal(200);
      expect(headers.get("content-security-policy")).to.contain("default-src 'none'");
      expect(html).not.to.contain("{{").and.not.to.contain("undefined").and.not.to.contain("table:");
      const own = hrefs(html).filter((href) => !href.startsWith("https://www.standardwebhooks.com"));
      for (const name of Object.keys(documents)) expect(own).to.include(`/docs/${name}`);
      for (const href of own) {
        const [target = "", anchor] = href.split("#");
        const found = await page(target === "" ? path : target);
        expect(found.status, href).to.equal(200);
        if (anchor) expect(found.html, href).to.contain(`id="${anchor}"`);
      }
    });
  }

  it("the pages under /docs show every route, setting and scope", async () => {
    const { html: contract } = await page("/docs/contract");
    for (const { method, path } of routes) {
      expect(contract).to.contain(`<code>${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}</code>`);
    }
    const { html: settingsPage } = await page("/docs/settings");
    for (const { name } of settingDescriptions) expect(settingsPage).to.contain(`<td><code>${name}</code></td>`);
  });
});

describe("the renderer of the pages", () => {
  const made = (markdown: string): string => renderMarkdown(markdown).markup.trim();

  it("the renderer escapes everything, and makes links only of links", () => {
    expect(made("a <b>&</b> `<i>` **x** <u>")).to.equal(
      "<p>a &lt;b&gt;&amp;&lt;/b&gt; <code>&lt;i&gt;</code> <strong>x</strong> &lt;u&gt;</p>",
    );
    expect(made("a <script>b('<i>')</script> <pre><u>")).not.to.match(/<(script|i|pre|u)>/);
    expect(made("<script>\nb('<i>')\n</script>")).to.equal("&lt;script&gt;\nb(&#39;&lt;i&gt;&#39;)\n&lt;/script&gt;");
    expect(made("<div onclick=b>\n*a*\n</div>")).not.to.contain("<div");
    expect(made("a\n\n<!-- b -->\nc")).to.equal("<p>a</p>\n<p>c</p>");
    expect(made('[a](javascript:x) [b](//evil) [c](/docs/c#d) [e](#f"g) https://evil.example')).to.equal(
      '<p>a b <a href="/docs/c#d">c</a> <a href="#f&quot;g">e</a> https://evil.example</p>',
    );
    expect(made("```html\n<script>\n```")).to.equal(
      '<pre tabindex="0"><code class="language-html">&lt;script&gt;\n</code></pre>',
    );
  });

  it("the renderer makes links from one page to another that work where they are served", () => {
    expect(made("[a](contract.md#b) [c](introduction.md)")).to.equal(
      '<p><a href="/docs/contract#b">a</a> <a href="/docs">c</a></p>',
    );
  });

  it("the renderer knows headings, nested lists, and tables with bars in code", () => {
    expect(made("## A `b`, c\n\n## A b c")).to.equal(
      '<h2 id="a-b-c">A <code>b</code>, c</h2>\n<h2 id="a-b-c-1">A b c</h2>',
    );
    expect(made("- one\n  more\n  - in\n- two")).to.equal(
      "<ul>\n<li>one\nmore<ul>\n<li>in</li>\n</ul>\n</li>\n<li>two</li>\n</ul>",
    );
    expect(made("1. a\n\n   ```\n   b\n   ```\n2. c")).to.match(
      /^<ol>[\s\S]*<pre tabindex="0"><code>b\n<\/code><\/pre>[\s\S]*<\/ol>$/,
    );
    const table = made("| a | b |\n|---|---|\n| `x\\|y` | z \\| w |");
    expect(table)
      .to.match(/^<div class="table" tabindex="0"><table>/)
      .and.to.contain("<td><code>x|y</code></td>\n<td>z | w</td>");
  });
});
