import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import {
  axeFindings,
  complaintsOf,
  needsBrowser,
  openWindow,
  sidewaysScroll,
  startBrowser,
  type WindowOptions,
} from "#test/support/browser.ts";
import { type Desk, deskOf } from "#test/support/desk.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

/** Longer than a card has to be shown before a key decides about it. */
const readMs = 700;

describe("console: review by keys, in a browser", () => {
  let service: InProcess;
  let browser: Browser;

  before(async function () {
    needsBrowser(this);
    service = await startInProcess({ DEV_PROVEN_DOMAINS: "customer.example" });
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  type Draft = { id: string; subject: string };

  /** Returns a person of a new workspace, whose identity has these drafts that wait, oldest first. */
  async function queueOf(
    subjects: readonly string[],
    { from = "ann@customer.example", ...options }: { from?: string; approvalsRequired?: number } = {},
  ): Promise<{ ben: Desk; drafts: Draft[]; ask: Workspace["ask"] }> {
    const own = await service.workspace();
    const identity = await service.identity(own.id, options);
    const ben = await deskOf(service, own.id, { role: "approver", name: "Ben" });
    const drafts: Draft[] = [];
    for (const subject of subjects) {
      const id = `${randomUUID()}@customer.example`;
      await service.deliver(identity.address, mail({ id, from, to: identity.address, subject }), { ip: "127.0.0.1" });
      const { json: threads } = await own.ask(`GET /v1/threads?limit=100`);
      const thread = threads.data.find((each: { subject: string }) => each.subject === subject);
      const newest = async () => (await own.ask(`GET /v1/threads/${thread.id}/messages`)).json.data[0];
      // Waits until the sender of the filed mail is checked.
      await until(async () => (await newest()).authentication !== null);
      const based_on_message_id = (await newest()).id;
      const about = { thread_id: thread.id, identity_id: identity.id, based_on_message_id };
      const { json: draft } = await own.ask("POST /v1/drafts", { json: { ...about, body_text: `About ${subject}.` } });
      drafts.push({ id: draft.id, subject });
    }
    await service.caughtUp();
    return { ben, drafts, ask: own.ask };
  }

  async function openedBy(
    desk: Desk,
    path: string,
    look: WindowOptions = { size: "desktop", colours: "light" },
  ): Promise<{ page: Page; complaints: string[] }> {
    const window = await openWindow(browser, look);
    await window.addCookies([...desk.cookies].map(([name, value]) => ({ name, value, url: service.url })));
    const page = await window.newPage();
    const complaints = complaintsOf(page);
    await page.goto(service.url + path);
    return { page, complaints };
  }

  const focusedId = (page: Page) => page.evaluate("document.activeElement.id");
  const shownId = async (page: Page) => (await page.getAttribute("#chosen", "data-card"))?.split(" ")[0];

  it("several plain drafts are each approved by one key, in the order of the queue", async () => {
    const { ben, drafts, ask } = await queueOf(["one", "two", "three", "four"]);
    const { page, complaints } = await openedBy(ben, "/review");
    for (const { id } of drafts) {
      expect(await shownId(page)).to.equal(id);
      await page.waitForTimeout(readMs);
      await page.keyboard.press("a");
      await page.waitForURL(`**decided=${id}*`);
    }
    expect(await page.textContent("#chosen")).to.contain("All done");
    for (const { id } of drafts) expect((await ask(`GET /v1/drafts/${id}`)).json.decided_by.name).to.equal("Ben");
    expect(complaints).to.deep.equal([]);
    await page.context().close();
  });

  it("a key within 400 ms of a change of card, and a key that is held down, decide nothing", async () => {
    const { ben, drafts, ask } = await queueOf(["early"]);
    const { page } = await openedBy(ben, "/settings/profile");
    // From the frame after the first paint on. On a busy machine, a timer that comes too late presses nothing.
    await page.addInitScript(`addEventListener("load", () => requestAnimationFrame(() => requestAnimationFrame(() => {
      const start = performance.now();
      const press = () => {
        if (performance.now() - start > 350) return;
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, cancelable: true }));
      };
      requestAnimationFrame(press);
      for (const ms of [0, 50, 150, 300]) setTimeout(press, ms);
    })))`);
    await page.goto(`${service.url}/review`);
    await page.waitForTimeout(readMs);
    await page.evaluate(
      `document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", repeat: true, bubbles: true, cancelable: true }))`,
    );
    await page.waitForTimeout(readMs);
    expect(await shownId(page)).to.equal(drafts[0]!.id);
    expect((await ask(`GET /v1/drafts/${drafts[0]!.id}`)).json.status).to.equal("pending");
    await page.keyboard.press("a");
    await page.waitForURL(`**decided=${drafts[0]!.id}*`);
    await page.context().close();
  });

  for (const [name, options] of [
    ["a draft with a warning", { from: "someone@stranger.example" }],
    ["a draft that several people have to approve", { approvalsRequired: 2 }],
  ] as const) {
    it(`${name} is approved by a key only with Enter`, async () => {
      const { ben, drafts, ask } = await queueOf(["careful"], options);
      const { id } = drafts[0]!;
      const { page } = await openedBy(ben, "/review");
      await page.waitForTimeout(readMs);
      await page.keyboard.press("a");
      await page.keyboard.press("a");
      expect(await focusedId(page)).to.equal("approve");
      expect((await ask(`GET /v1/drafts/${id}/history`)).json.data.at(-1).type).to.equal("DraftSubmitted");
      await page.keyboard.press("Enter");
      await page.waitForURL(`**decided=${id}*`);
      await page.context().close();
    });
  }

  it("a draft that changed while it was shown is not approved by a key", async () => {
    const { ben, drafts, ask } = await queueOf(["changing"]);
    const { id } = drafts[0]!;
    const { page } = await openedBy(ben, "/review");
    await page.waitForTimeout(readMs);
    await ask(`PATCH /v1/drafts/${id}`, { json: { body_text: "Another text." } });
    await page.waitForSelector("#standing .alert");
    expect(await page.textContent("#chosen")).to.contain("About changing.");
    await page.keyboard.press("a");
    await page.waitForTimeout(readMs);
    expect((await ask(`GET /v1/drafts/${id}`)).json.status).to.equal("pending");
    await page.context().close();
  });

  it("the tab keeps the number of drafts while the page reports who is looking", async () => {
    const { ben } = await queueOf(["first", "second"]);
    const { page } = await openedBy(ben, "/settings/profile");
    const reported = page.waitForResponse((response) => response.url().endsWith("/looking"));
    await page.goto(`${service.url}/review`);
    await reported;
    await page.waitForTimeout(readMs);
    expect(await page.title()).to.equal("(2) Review · Countersign");
    await page.context().close();
  });

  it("a draft after the 50th is listed and in view, between its neighbours; an edit leads on to the next one", async () => {
    const { ben, drafts, ask } = await queueOf(["many"]);
    const { json: first } = await ask(`GET /v1/drafts/${drafts[0]!.id}`);
    const { thread_id, identity_id, based_on_message_id } = first;
    const ids = [first.id as string];
    for (let n = 1; n < 55; n++) {
      const about = { thread_id, identity_id, based_on_message_id, body_text: `Answer ${n}.` };
      ids.push((await ask("POST /v1/drafts", { json: about })).json.id);
    }
    await service.caughtUp();
    const { page } = await openedBy(ben, `/review?draft=${ids[52]}`);
    expect(await page.getAttribute("[data-key=k]", "href")).to.contain(ids[51]);
    expect(await page.getAttribute("[data-key=j]", "href")).to.contain(ids[53]);
    await page.goto(`${service.url}/review?draft=${ids[40]}`);
    const isInView = `(() => {
      const [row, list] = [".waiting [aria-current]", ".waiting"].map((each) => document.querySelector(each).getBoundingClientRect());
      return row.top >= list.top && row.bottom <= list.bottom && scrollY === 0;
    })()`;
    await until(async () => (await page.evaluate(isInView)) === true);
    await page.click("[data-key=e]");
    await page.fill("#text", "A better answer.");
    await page.click("button[value=approve]");
    await page.waitForURL(`**decided=${ids[40]}*`);
    expect(await shownId(page)).to.equal(ids[41]);
    await page.context().close();
  });

  for (const look of [
    { size: "desktop", colours: "light" },
    { size: "phone", colours: "dark" },
    { size: "narrow", colours: "light", script: false },
  ] as const) {
    it(`the decision is in view and the list one step away: ${look.size}, ${look.colours}`, async () => {
      const { ben, drafts } = await queueOf(["left", "right"], { from: "someone@stranger.example" });
      const { page, complaints } = await openedBy(ben, "/review", look);
      const approve = await page.locator("#approve").boundingBox();
      const height = page.viewportSize()!.height;
      expect(approve!.y + approve!.height).to.be.at.most(height);
      expect(await sidewaysScroll(page)).to.deep.equal([]);
      if (!("script" in look)) expect(await axeFindings(page)).to.deep.equal([]);
      if (look.size !== "desktop") {
        expect(await page.isVisible("#queue")).to.equal(false);
        await page.click(".walk .to-list");
        expect(await page.isVisible("#chosen")).to.equal(false);
        if (!("script" in look)) expect(await axeFindings(page)).to.deep.equal([]);
      }
      await page.click(`#waits-${drafts[1]!.id}`);
      await page.waitForURL(`**draft=${drafts[1]!.id}*`);
      expect(await page.isVisible("#approve")).to.equal(true);
      expect(complaints).to.deep.equal([]);
      await page.context().close();
    });
  }
});
