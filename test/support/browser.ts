import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, BrowserContext, Page } from "playwright-core";

/**
 * A real browser, if one is installed: playwright-core includes none. Without one, a test that needs it is listed as pending, with a
 * sentence that says so (`needsBrowser`).
 */

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Path of the browser; undefined if there is none. `BROWSER_PATH` overrides it. */
export const browserPath: string | undefined = [process.env.BROWSER_PATH, ...places].find(
  (path): path is string => path !== undefined && existsSync(path),
);

/** Called in a `before`: without a browser the suite's tests are skipped, with the reason. */
export function needsBrowser(context: Mocha.Context): void {
  if (browserPath !== undefined) return;
  console.log(`      no browser is installed here (looked for ${places.join(", ")}): not tried`);
  context.skip();
}

/** Starts it without a window. Its sandbox does not work for root, and only our own pages are opened in it. */
export async function startBrowser(): Promise<Browser> {
  if (browserPath === undefined) throw new Error("no browser is installed here");
  // Loaded on demand: most tests do not need it.
  const { chromium } = await import("playwright-core");
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: browserPath, args });
}

export type WindowOptions = { size: keyof typeof sizes; colours: "light" | "dark"; script?: boolean };

/** CSS pixels; `narrow` is the least width that must not need sideways scrolling. */
export const sizes = {
  narrow: { width: 320, height: 640 },
  phone: { width: 390, height: 844 },
  desktop: { width: 1280, height: 900 },
};

/** Opens a browser window with separate cookies. */
export const openWindow = (
  browser: Browser,
  { size, colours, script = true }: WindowOptions,
): Promise<BrowserContext> =>
  browser.newContext({
    viewport: sizes[size],
    colorScheme: colours,
    javaScriptEnabled: script,
    // Animations are off, so pages are checked in their final state.
    reducedMotion: "reduce",
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
  });

/** Collects a page's errors while it is open: script errors, and everything that its policy refused. `list` grows as they happen. */
export function complaintsOf(page: Page): string[] {
  const list: string[] = [];
  page.on("pageerror", (error) => list.push(`script: ${error.message}`));
  page.on("console", (message) => {
    // A browser requests an icon by itself, and reconnects an event stream that was cut off.
    if (/\/(favicon\.ico|console\/events)$/.test(message.location().url)) return;
    if (message.type() === "error" || /content security policy/i.test(message.text())) list.push(message.text());
  });
  return list;
}

let axeSource: string | undefined;

/** The rules that pages are checked by: WCAG 2.2, levels A and AA, and axe's own best practices. */
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Returns the faults that axe finds in the page's current state, with their places; empty if none. */
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

/** Returns by how many pixels the page is wider than its window, and the elements that stick out. */
export const sidewaysScroll = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const wide = [...document.querySelectorAll("body *")].filter((each) => each.getBoundingClientRect().right > width + 1);
    return wide.slice(-3).map((each) => each.outerHTML.slice(0, 160));
  })()`);
