import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { firstOwnerLink } from "#src/commands/members/invitations.ts";
import { complaintsOf, needsBrowser, openWindow, startBrowser, type WindowOptions } from "#test/support/browser.ts";
import { inFull } from "#test/support/full.ts";
import { type InProcess, mail, startInProcess, until } from "#test/support/inProcess.ts";

const password = "a long enough secret";

const looks: readonly WindowOptions[] = [
  { size: "desktop", colours: "light" },
  { size: "phone", colours: "dark", script: false },
];

/** More than any page has places to stop at. */
const mostStops = 200;

/** The story at the desk in a real browser, by the keyboard alone: with script on a desktop, without on a phone. */
(inFull ? describe : describe.skip)("the console from invitation to sent mail, in a browser by keyboard", () => {
  let service: InProcess;
  let browser: Browser;
  before(async function () {
    needsBrowser(this);
    service = await startInProcess();
    browser = await startBrowser();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
  });

  /** Returns the accessible name of the focused element. */
  const focused = (page: Page): Promise<string> =>
    page.evaluate(`(() => {
      const element = document.activeElement;
      const label = element.labels?.[0]?.textContent ?? element.getAttribute("aria-label") ?? element.textContent ?? "";
      return label.trim().replace(/\\s+/g, " ");
    })()`);

  /** Tab by Tab to what is called so. */
  async function tabTo(page: Page, name: RegExp): Promise<void> {
    const met: string[] = [];
    for (let stop = 0; stop < mostStops; stop++) {
      await page.keyboard.press("Tab");
      const on = await focused(page);
      if (name.test(on)) return;
      met.push(on.slice(0, 40));
    }
    throw new Error(`${page.url()}: the keyboard does not come to ${name}, only to ${[...new Set(met)].join(" | ")}`);
  }

  async function type(page: Page, fields: [RegExp, string][]): Promise<void> {
    for (const [name, text] of fields) {
      await tabTo(page, name);
      await page.keyboard.press("Control+A");
      await page.keyboard.type(text);
    }
  }

  /** Enter on what has the focus leads to another page. */
  const enter = (page: Page) => Promise.all([page.waitForEvent("load"), page.keyboard.press("Enter")]);

  async function press(page: Page, name: RegExp): Promise<void> {
    await tabTo(page, name);
    await enter(page);
  }

  /** Presses what stands in the header, or on a phone in its menu. */
  async function pressInHeader(page: Page, name: RegExp, { size }: WindowOptions): Promise<void> {
    if (size === "phone") {
      await tabTo(page, /^Menu$/);
      await page.keyboard.press("Enter");
    }
    await press(page, name);
  }

  for (const look of looks) {
    const name = `${look.size}, ${look.colours}, ${look.script === false ? "without" : "with"} script`;
    it(`an owner signs in, creates an identity, edits and approves a draft by keyboard: ${name}`, async () => {
      const workspace = await service.workspace();
      const window = await openWindow(browser, look);
      const page = await window.newPage();
      const complaints = complaintsOf(page);
      const link = (await firstOwnerLink(service.deps, workspace.id)) as string;
      const email = `ada-${look.size}@people.example`;

      await page.goto(service.url + link.slice(service.deps.settings.publicUrl.length));
      await type(page, [
        [/^Email address/, email],
        [/^Your name/, "Ada Owner"],
        [/password/i, password],
      ]);
      await enter(page);
      expect(await page.textContent("body")).to.contain("Ada Owner");
      await pressInHeader(page, /^Sign out$/, look);
      await type(page, [
        [/^Email address/, email],
        [/^Password/, password],
      ]);
      await enter(page);
      expect(new URL(page.url()).pathname).to.equal("/review");

      await pressInHeader(page, /^Identities$/, look);
      await press(page, /identity$/i);
      await type(page, [
        [/^Name before the @/, `support-${look.size}`],
        [/^Display name/, "Support"],
      ]);
      await enter(page);
      await service.caughtUp();
      const [identity] = (await workspace.ask("GET /v1/identities")).json.data;
      expect(identity?.display_name).to.equal("Support");

      const to = identity.email_address as string;
      await service.deliver(to, mail({ id: `${look.size}@customer.example`, to, subject: "My parcel" }));
      const [thread] = (await workspace.ask("GET /v1/threads")).json.data;
      const [message] = (await workspace.ask(`GET /v1/threads/${thread.id}/messages`)).json.data;
      const about = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: message.id };
      const draft = (await workspace.ask("POST /v1/drafts", { json: { ...about, body_text: "It comes today." } })).json;
      await service.caughtUp();

      await pressInHeader(page, /^Review$/, look);
      await press(page, /^Edit$/);
      await type(page, [[/^Text/, "It comes tomorrow."]]);
      await press(page, /^Save, approve/);
      await until(async () => {
        service.clock.advance(5_000);
        return (await workspace.ask(`GET /v1/drafts/${draft.id}`)).json.status === "sent";
      });
      await service.caughtUp();

      await pressInHeader(page, /^Conversations$/, look);
      await press(page, /My parcel/);
      expect(await page.textContent("main")).to.contain("It comes tomorrow.");
      await page.goto(`${service.url}/drafts/${draft.id}`);
      expect(await page.textContent("main")).to.contain("Ada Owner");
      expect(complaints).to.deep.equal([]);
      await window.close();
    });
  }
});
