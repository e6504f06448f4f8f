import { execFile } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { browserPath, startBrowser } from "#test/support/browser.ts";
import { commandArguments } from "./support/childProcess.ts";
import { type Client, createClient, until } from "./support/client.ts";
import { startInstance } from "./support/instance.ts";

/**
 * Takes the pictures of the console for README.md from a separate service in a real browser: the page where drafts are reviewed and a
 * draft's history, on a desktop in light colours and on a phone in dark ones. Everything shown really happened in that service. Writes
 * PNG files into screenshots/.
 */
const folder = fileURLToPath(new URL("./screenshots/", import.meta.url));
const owner = "mina@bluelamp.example";

/** CSS pixels; `scale`: pixels of the picture for each of them. */
const looks = {
  desktop: { size: { width: 1200, height: 960 }, colours: "light", scale: 1 },
  phone: { size: { width: 390, height: 780 }, colours: "dark", scale: 1.5 },
} as const;

const mails = [
  {
    from: "Ada Byron <ada@customer.example>",
    subject: "Where is my parcel?",
    text: "Hello,\n\nmy order 1843 was due on Monday. Where is it?\n\nAda",
    reply: "Dear Ada,\n\nyour parcel is in Leeds and arrives tomorrow.\n\nBlue Lamp",
    rationale: "The tracking page of order 1843 says: Leeds, out for delivery tomorrow.",
  },
  {
    from: "Tom Okafor <tom@customer.example>",
    subject: "The lamp flickers",
    text: "Good morning,\n\nthe desk lamp that came on Friday flickers when it is dimmed. Can I send it back?\n\nTom",
    reply:
      "Dear Tom,\n\nI am sorry about that. You can send it back until 30 November, and we pay the postage: the label is on the order's page. A new lamp leaves as soon as yours is on its way.\n\nBlue Lamp",
    rationale: "Bought 9 days ago, so the return is free (return policy, section 2). A new one is in stock.",
  },
  {
    from: "Ines Moreau <ines@customer.example>",
    subject: "Invoice for order 1790",
    text: "Hello, could you send me the invoice again? Ines",
    reply: "Dear Ines,\n\nthe invoice is on the order's page, under Documents.\n\nBlue Lamp",
    rationale: "She is signed up, so she can open the page.",
  },
] as const;

async function workspaceIn(dataDir: string): Promise<{ apiKey: string; link: string }> {
  const typed = ["create", "--name", "Blue Lamp", "--plan", "agency", "--owner", owner];
  const { stdout } = await promisify(execFile)(process.execPath, [...commandArguments("workspace"), ...typed], {
    env: { ...process.env, DATA_DIR: dataDir },
  });
  const [apiKey = ""] = /svc_live_\w+/.exec(stdout) ?? [];
  const [link = ""] = /https?:\/\/[^"\s]+\/invitation\/[\w-]+/.exec(stdout) ?? [];
  return { apiKey, link };
}

/** Delivers the mails and lets an agent answer each. Returns the drafts' ids, in the order of `mails`. */
async function drafts(client: Client): Promise<string[]> {
  const identity = await client.identity({ local_part: "hello", display_name: "Blue Lamp" });
  const ids: string[] = [];
  for (const { from, subject, text, reply, rationale } of mails) {
    await client.mail({ from, to: identity.email_address, subject, text });
    const thread = await until(`the thread “${subject}”`, async () => {
      const { data } = await client.ask("GET /v1/threads?limit=100");
      return data.find((each: { subject: string }) => each.subject === subject);
    });
    const { messages } = await client.ask(`GET /v1/threads/${thread.id}`);
    const about = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages[0].id };
    ids.push((await client.ask("POST /v1/drafts", { ...about, body_text: reply, rationale })).id);
  }
  return ids;
}

/** Accepts the invitation: creates the account and signs in. */
async function signIn(page: Page, link: string): Promise<void> {
  await page.goto(link);
  await page.getByLabel(/your name/i).fill("Mina Berg");
  await page.getByLabel(/password/i).fill("three blue lamps glow");
  await page.getByRole("button", { name: /accept|create account and join/i }).click();
  await page.waitForURL(/\/review/);
}

async function editAndApprove(page: Page, path: string, text: string): Promise<void> {
  await page.goto(path);
  await page.getByLabel("Text", { exact: true }).fill(text);
  await page.getByRole("button", { name: /^Save, approve/ }).click();
  await page.waitForURL(/decided=/);
}

/** Takes one picture of a page in a window of this size. */
async function take(browser: Browser, { look, cookies, url, name }: ScreenshotInput): Promise<void> {
  const { size, colours, scale } = looks[look];
  const window = await browser.newContext({
    viewport: size,
    deviceScaleFactor: scale,
    colorScheme: colours,
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
  });
  await window.addCookies(cookies);
  const page = await window.newPage();
  // Twice: the first visit tells the service the reader's time zone.
  await page.goto(url);
  await page.goto(url);
  const path = join(folder, `${name}-${look}-${colours}.png`);
  await page.screenshot({ path });
  await window.close();
  console.log(`${path}  ${Math.round((await stat(path)).size / 1000)} KB`);
}

type ScreenshotInput = {
  look: keyof typeof looks;
  cookies: Parameters<Awaited<ReturnType<Browser["newContext"]>>["addCookies"]>[0];
  url: string;
  name: string;
};

async function takeAll(browser: Browser, dataDir: string): Promise<void> {
  const instance = await startInstance({ DATA_DIR: dataDir, DEV_PROVEN_DOMAINS: "customer.example" });
  try {
    const { apiKey, link } = await workspaceIn(dataDir);
    const client = createClient({ ...instance, apiKey });
    const [sentId = "", shownId = ""] = await drafts(client);
    const window = await browser.newContext();
    const page = await window.newPage();
    // The link names the port that the command knows; the service of this run has another.
    await signIn(page, instance.url + new URL(link).pathname);
    const better = "Dear Ada,\n\nyour parcel is in Leeds and arrives tomorrow before noon.\n\nBlue Lamp";
    await editAndApprove(page, `${instance.url}/review/${sentId}/edit`, better);
    await until("the reply to be sent", async () => (await client.ask(`GET /v1/drafts/${sentId}`)).status === "sent");
    const cookies = await window.cookies();
    for (const look of Object.keys(looks) as (keyof typeof looks)[]) {
      const [review, life] = [`${instance.url}/review?draft=${shownId}`, `${instance.url}/drafts/${sentId}`];
      await take(browser, { look, cookies, url: review, name: "review" });
      await take(browser, { look, cookies, url: life, name: "life" });
    }
  } finally {
    await instance.stop();
  }
}

if (browserPath === undefined) {
  console.error(
    "The pictures are taken in Chromium, and none is installed here. Install it (Debian: apt-get install chromium), or name one: BROWSER_PATH=/path/to/chromium npm run screenshots",
  );
  process.exit(1);
}
const dataDir = await mkdtemp(join(tmpdir(), "countersign-screenshots-"));
const browser = await startBrowser();
try {
  await takeAll(browser, dataDir);
} finally {
  await browser.close();
  await rm(dataDir, { recursive: true, force: true });
}
