import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, BrowserContext, Page } from "playwright-core";

/**
 * A real browser, where one is installed: playwright-core brings none. A test that needs it is listed as pending elsewhere, with a sentence that
 * says so (`needsBrowser`).
 */

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Where the browser is; undefined if there is none. `BROWSER_PATH` names another. */
export const browserPath: string | undefined = [process.env.BROWSER_PATH, ...places].find(
  (path): path is string => path !== undefined && existsSync(path),
);

/** In a `before`: without a browser the tests of this suite are not run, and say why. */
export function needsBrowser(context: Mocha.Context): void {
  if (browserPath !== undefined) return;
  console.log(`      no browser is installed here (looked for ${places.join(", ")}): not tried`);
  context.skip();
}

/** Starts it without a window. Its sandbox does not work for root, and nothing but our own pages is opened in it. */
export async function startBrowser(): Promise<Browser> {
  if (browserPath === undefined) throw new Error("no browser is installed here");
  // Loaded only now: most tests need none of it.
  const { chromium } = await import("playwright-core");
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: browserPath, args });
}

export type Look = { size: keyof typeof sizes; colours: "light" | "dark"; script?: boolean };

/** CSS pixels; `narrow` is the least that must do without scrolling sideways. */
export const sizes = {
  narrow: { width: 320, height: 640 },
  phone: { width: 390, height: 844 },
  desktop: { width: 1280, height: 900 },
};

/** A browser's window with an address of its own for cookies. */
export const openWindow = (browser: Browser, { size, colours, script = true }: Look): Promise<BrowserContext> =>
  browser.newContext({
    viewport: sizes[size],
    colorScheme: colours,
    javaScriptEnabled: script,
    // What moves is looked at when it has come to rest.
    reducedMotion: "reduce",
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
  });

/**
 * Collects what a page complains about while it is open: errors of scripts, and everything that its policy refused. `list` is filled as it happens.
 */
export function complaintsOf(page: Page): string[] {
  const list: string[] = [];
  page.on("pageerror", (error) => list.push(`script: ${error.message}`));
  page.on("console", (message) => {
    // A browser asks for an icon by itself.
    if (message.location().url.endsWith("/favicon.ico")) return;
    if (message.type() === "error" || /content security policy/i.test(message.text())) list.push(message.text());
  });
  return list;
}

let axeSource: string | undefined;

/** What WCAG 2.2, levels A and AA, and axe's own best practices are checked by. */
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** What axe finds wrong with the page as it is now, in words that lead to it; empty if nothing. */
export async function axeFindings(page: Page): Promise<string[]> {
  axeSource ??= readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(axeSource);
  const violations = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(tags)}, resultTypes: ["violations"] }).then(({ violations }) => violations)`,
  )) as { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }[];
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map((node) =>
      `${id} (${help}): ${node.html.slice(0, 200)} ${node.failureSummary ?? ""}`.replace(/\s+/g, " "),
    ),
  );
}

/** By how many pixels the page is wider than its window, and which elements stand out. */
export const sidewaysScroll = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const wide = [...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > width + 1);
    return wide.slice(-3).map((each) => each.outerHTML.slice(0, 160));
  })()`);
