import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import { approvalLink, type Client, until } from "../support/client.ts";
import { ask, endOf, submit } from "./conversation.ts";
import { handedOver } from "./evidence.ts";
import { allOf, type Proof } from "./proof.ts";
import { openSender } from "./sender.ts";
import { openWorld, type World } from "./world.ts";

const browsers = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const scanner: Proof = {
  name: "scanner",
  title: "GET and HEAD of every approval link, by a headless browser too: nothing changes; one POST acts once",
  unit: "looks at each link",
  full: 50,
  checked: 5,
  sample: 1,
  async run(size, report) {
    const world = await openWorld({}, { here: size <= scanner.sample });
    try {
      const instance = await world.reach();
      const client = world.client(instance);
      const identity = await client.identity();
      const sender = await openSender(instance.smtpPort);
      const draft = await submit(client, await ask(world, identity, sender.send));
      sender.close();
      const mail = await until("the approval mail", async () => (await client.outbox()).at(-1));
      const links = (["approve", "reject"] as const).map((decision) => approvalLink(mail, decision));
      const notified = async () =>
        (await client.ask(`GET /v1/drafts/${draft.id}`)).notification_status.state === "sent";
      await until("the word that the approvers are told", notified);
      await until("quiet", async () => quiet(world), 10_000);

      const before = await facts(world);
      let looks = 0;
      for (const link of links) {
        for (let n = 0; n < size; n++) {
          for (const method of ["GET", "HEAD"]) {
            const { status } = await fetch(link, { method });
            if (status === 200) looks += 1;
          }
        }
      }
      allOf(report, "GET and HEAD answered 200", { good: looks, of: links.length * size * 2 });
      report.figure("opened by a headless browser", await browse(links, size));
      const after = await facts(world);
      if (after !== before)
        report.violation(`looking at a link changed the log, the outbox or the draft: ${before} became ${after}`);
      report.figure("events written by looking", after === before ? 0 : "some");

      const approve = links[0] as string;
      const presses = await Promise.all([1, 2, 3].map(() => client.press(approve, "approve")));
      const end = await endOf(client, draft.id);
      await press(client, links[1] as string);
      const left = (await handedOver(world)).get(draft.id)?.length ?? 0;
      report.figure(
        "pressed four times",
        `${presses.map(({ status }) => status)}; ended ${end.status}, left ${left} time`,
      );
      const [{ n }] = (await world.rows<{ n: string }>(
        "select count(*) as n from es.events where stream_id = $1 and type in ('DraftApproved', 'DraftRejected')",
        [`draft-${draft.id}`],
      )) as [{ n: string }];
      if (end.status !== "sent" || left !== 1 || Number(n) !== 1)
        report.violation(`${n} decisions, ended ${end.status}, left ${left} times`);
    } finally {
      await world.close();
    }
  },
};

/** The other link, after the decision: it can only show the outcome. */
const press = (client: Client, link: string) => client.press(link, "reject");

async function browse(links: string[], size: number): Promise<string> {
  const executablePath = browsers.find(existsSync);
  if (!executablePath) return "none is installed here";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    for (const link of links) {
      const page = await browser.newPage();
      for (let n = 0; n < size; n++) await page.goto(link, { waitUntil: "load" });
      await page.close();
    }
  } finally {
    await browser.close();
  }
  return `${links.length * size} times`;
}

/** Everything a look could have changed. */
async function facts(world: World): Promise<string> {
  const [row] = await world.rows(
    `select (select max(position) from es.events) as events, (select count(*) from work.outbox) as outbox,
       (select string_agg(drafts::text, ';') from read.drafts) as drafts`,
  );
  return JSON.stringify(row);
}

async function quiet(world: World): Promise<boolean> {
  const before = await facts(world);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  return before === (await facts(world));
}
