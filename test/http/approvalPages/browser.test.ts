import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect } from "chai";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { reviewCard } from "#src/channels/card/reviewCard.ts";
import { renderApprovalMail } from "#src/channels/email/renderApprovalMail.ts";
import { listPage } from "#src/http/approvalPages/listPage.ts";
import { expiredPage, renewedPage, renewLaterPage } from "#src/http/approvalPages/renewalPages.ts";
import * as billing from "#src/http/billingPage/pages.ts";
import * as stop from "#src/http/unsubscribePages/pages.ts";
import { planLimits } from "#streams/workspace/planLimits.ts";
import { changed, hostile, longWords, newer, ordinary, rightToLeft, withHtml } from "#test/channels/email/examples.ts";
import { inFull } from "#test/support/full.ts";
import { audit } from "./audit.ts";
import { expiredLink, listOfAll, stopLink } from "./examples.ts";
import { ApprovalPagesServer, list, token } from "./server.ts";

const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const blank = "about:blank";
const visits = inFull ? 10 : 4;
const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const views = {
  ordinary,
  changed,
  withHtml,
  rightToLeft,
  hostile,
  longWords,
  newer: { ...ordinary, newerMessage: newer, codeTriesLeft: 5 },
};

if (!executablePath) console.log("  approval pages in a browser: left out, no chromium is installed here");

(executablePath ? describe : describe.skip)("approval pages in a browser", () => {
  let browser: Browser;
  let pages: ApprovalPagesServer;
  before(async () => {
    const args = [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--disable-background-networking",
      "--disable-component-update",
    ];
    browser = await chromium.launch({ executablePath, args });
  });
  after(() => browser.close());
  beforeEach(async () => {
    pages = await new ApprovalPagesServer().listen();
  });
  afterEach(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()));
    await pages.close();
  });

  /** Opens a page, and records all its network requests. Only loopback is allowed. */
  async function open(path: string, options: BrowserContextOptions = phone): Promise<{ page: Page; asked: string[] }> {
    const page = await (await browser.newContext(options)).newPage();
    const asked: string[] = [];
    await page.route("**/*", (route) => {
      asked.push(route.request().url());
      return route.request().url().startsWith(pages.url("/")) ? route.continue() : route.abort();
    });
    page.on("dialog", (dialog) => {
      asked.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(path === blank ? blank : pages.url(path));
    return { page, asked };
  }

  it("a draft is decided by one press without script, and a second press shows the outcome", async () => {
    pages.result = async () => {
      pages.view = { decided: { decision: "sending", by: "anna@harbour.example", at: "2026-11-20T12:00:00Z" } };
      return { kind: "approved", sending: true };
    };
    const bothTabs = [1, 2].map(() => open(`/a/${token}?d=approve`, { ...phone, javaScriptEnabled: false }));
    const titles: string[] = [];
    for (const { page } of await Promise.all(bothTabs)) {
      await page.getByRole("button", { name: "Approve & send" }).click();
      titles.push(await page.title());
    }
    expect(titles).to.deep.equal(["Approved and on its way", "Already approved and on its way"]);
    expect(pages.decided.map(({ decision }) => decision)).to.deep.equal(["approve"]);
  });

  it("a draft is decided by the keyboard alone, with a reason", async () => {
    pages.result = async () => ({ kind: "rejected" });
    const { page } = await open(`/a/${token}?d=reject`);
    await page.getByLabel("Reason").focus();
    await page.keyboard.type("Offer the refund");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Rejected" }).waitFor();
    expect(pages.decided.map(({ decision, reason }) => [decision, reason])).to.deep.equal([
      ["reject", "Offer the refund"],
    ]);
  });

  it("an approval page asks for a code of digits, and a draft is decided by the keyboard alone", async () => {
    pages.view = { codeTriesLeft: 5 };
    const { page } = await open(`/a/${token}`, { ...phone, javaScriptEnabled: false });
    await page.getByRole("button", { name: "Approve & send" }).click();
    expect(pages.decided).to.deep.equal([]);
    await page.getByRole("textbox", { name: "Code (the four digits in the approval mail)" }).first().focus();
    await page.keyboard.type("4831");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Approved and on its way" }).waitFor();
    expect(pages.decided.map(({ decision, code }) => [decision, code])).to.deep.equal([["approve", "4831"]]);
  });

  it(`a draft is not decided by ${visits} visits of a browser that runs scripts and unfolds everything`, async () => {
    pages.view = withHtml;
    const { page } = await open(blank);
    for (let n = 0; n < visits; n += 1) {
      await page.goto(pages.url(`/a/${token}?d=${n % 2 ? "approve" : "reject"}`));
      await page.locator("details").evaluateAll((all) => all.map((one) => one.setAttribute("open", "")));
    }
    expect(pages.found).to.have.length(visits);
    expect(pages.decided).to.be.empty;
  });

  it("an approval page with hostile words runs nothing and requests nothing", async () => {
    pages.view = hostile;
    const { page, asked } = await open(`/a/${token}`);
    const frame = page.frameLocator("iframe");
    await page.locator("iframe").scrollIntoViewIfNeeded();
    expect(await frame.locator("body").textContent()).to.include("Hi[U+202E] there");
    await frame.getByText("there", { exact: true }).click();
    expect(await frame.locator("a, form, img, script, style ~ style").count()).to.equal(0);
    expect(await page.locator("script, img, main a:not(.skip)").count()).to.equal(0);
    expect(asked).to.deep.equal([pages.url()]);
  });

  it("a draft's HTML that passes the sanitiser loads and runs nothing in its frame", async () => {
    const { page, asked } = await open(`/a/${token}`);
    await page.evaluate((html) => {
      const frame = document.createElement("iframe");
      frame.setAttribute("sandbox", "");
      frame.srcdoc = html;
      document.querySelector("main")?.append(frame);
      return new Promise((resolve) => frame.addEventListener("load", resolve));
    }, hostile.content.body_html ?? "");
    const beyond = asked.filter((url) => url !== pages.url());
    expect(beyond).to.deep.equal([]);
  });

  it("an approval page shows a draft's HTML in a frame, with links written out that cannot be followed", async () => {
    pages.view = withHtml;
    const { page } = await open(`/a/${token}`);
    const frame = page.frameLocator("iframe");
    await page.locator("iframe").scrollIntoViewIfNeeded();
    expect(await frame.locator("body").textContent())
      .to.include("new copy is on its way")
      .and.to.include("Quay 4, Gothenburg");
    const shown = await frame.locator(".link").evaluate((link) => getComputedStyle(link, "::after").content);
    expect(shown).to.include("https://harbour.example/r?o=48213&c=2");
    expect(await frame.locator("[href]").count()).to.equal(0);
  });

  for (const [name, view] of Object.entries(views)) {
    it(`an approval page fits a small phone and is accessible: ${name}`, async () => {
      pages.view = view;
      const { page } = await open(`/a/${token}`, { viewport: { width: 320, height: 640 }, colorScheme: "light" });
      expect(await page.evaluate(audit)).to.deep.equal([]);
      await page.emulateMedia({ colorScheme: "dark" });
      expect(await page.evaluate(audit)).to.deep.equal([]);
    });

    it(`an approval mail fits a small phone and links only its own pages: ${name}`, async () => {
      const links = { approve: pages.url(`/a/${token}?d=approve`), reject: pages.url(`/a/${token}?d=reject`) };
      const { page, asked } = await open(blank, { viewport: { width: 320, height: 640 }, colorScheme: "light" });
      await page.setContent(renderApprovalMail(reviewCard({ ...ordinary, ...view }), links).html, {
        waitUntil: "load",
      });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await page.evaluate(audit)).to.deep.equal(["no main landmark"]);
      }
      expect(
        await page
          .locator("[href], [src], [background]")
          .evaluateAll((all) => all.map((one) => one.getAttribute("href"))),
      ).to.deep.equal([links.approve, `${links.approve}#changes-form`, links.reject]);
      expect(asked).to.deep.equal([]);
    });
  }

  for (const [name, view] of Object.entries(inFull ? views : { changed })) {
    it(`axe finds nothing on an approval page, in light and dark: ${name}`, async () => {
      pages.view = view;
      const { page } = await open(`/a/${token}`, { ...phone, bypassCSP: true });
      await page.evaluate(axe);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await page.evaluate(violations), colorScheme).to.deep.equal([]);
      }
    });
  }

  it("axe finds nothing on the pages that list drafts, stop mail and show plans, and each is accessible", async () => {
    const nonce = "a nonce";
    const { page } = await open(blank, { viewport: { width: 320, height: 640 }, colorScheme: "light" });
    const usual = [
      listPage(listOfAll, list),
      expiredPage(expiredLink, { nonce, notice: "Please press the button again." }),
      stop.unsubscribePage({ ...stopLink, stopped: true }, { nonce, notice: "Nothing was changed." }),
      billing.plansPage(plans),
    ];
    const others = [
      listPage({ ...listOfAll, waiting: 0, pages: 1 }, list),
      expiredPage({ ...expiredLink, kind: "elsewhere" }, { nonce }),
      renewedPage(expiredLink),
      renewLaterPage(),
      stop.unsubscribePage(stopLink, { nonce }),
      stop.changedPage(stopLink, nonce),
      stop.unsubscribePage({ ...stopLink, standing: "expired" }, { nonce }),
      stop.changedPage({ ...stopLink, standing: "closed" }, nonce),
      stop.unknownPage(),
      billing.plansPage({ ...plans, isConnected: false }),
      billing.unknownPage(),
      billing.outcomePage({ kind: "expired" }, plans),
      billing.outcomePage({ kind: "subscription", subscription }, plans),
      billing.outcomePage({ kind: "subscription", subscription: { ...subscription, status: "unpaid" } }, plans),
    ];
    for (const shown of inFull ? [...usual, ...others] : usual) {
      await page.setContent(shown);
      await page.evaluate(axe);
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const found = [...(await page.evaluate(audit)), ...(await page.evaluate(violations))];
        expect(found, `${await page.title()}, ${colorScheme}`).to.deep.equal([]);
      }
    }
  });

  it("a page whose checkout is being confirmed reloads itself, and axe finds only that", async () => {
    const { page } = await open(blank, { viewport: { width: 320, height: 640 } });
    await page.setContent(billing.outcomePage({ kind: "being_confirmed" }, plans));
    await page.evaluate(axe);
    expect(await page.evaluate(audit)).to.deep.equal([]);
    // The page has no input that a refresh could lose, and it can be left.
    expect(await page.evaluate(violations)).to.deep.equal(['meta-refresh: <meta http-equiv="refresh" content="10">']);
  });

  it("the page after a press is accessible", async () => {
    const { page } = await open(`/a/${token}`);
    await page.getByRole("button", { name: "Reject" }).click();
    expect(await page.evaluate(audit)).to.deep.equal([]);
  });
});

const plans: billing.Plans = { limits: planLimits, publicUrl: "https://mail.example", isConnected: true };
const subscription = {
  ...({ plan: "agency", interval: "annual", status: "trialing", cancelAt: null } as const),
  trialEnd: "2026-12-20T12:00:00.000Z",
  periodEnd: "2026-12-20T12:00:00.000Z",
};

/** Runs inside the page, beside axe. */
async function violations(): Promise<string[]> {
  const { axe } = globalThis as unknown as {
    axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
  };
  const found = (await axe.run()).violations;
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}
