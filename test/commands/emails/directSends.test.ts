import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { draftsOfThread } from "#projections/drafts/queries.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { DirectlySent } from "#src/commands/emails/directSends.ts";
import { replyEmail, sendEmail } from "#src/commands/emails/emails.ts";
import type { Cause } from "#src/commands/handle.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { wrapCommands } from "#test/support/wrapCommands.ts";

class CutOff extends Error {}

/**
 * Dependencies of a run that ends for good at its n-th command, right before or right after the command is recorded in the log. Counts the
 * commands.
 */
function cutOffAt(deps: Dependencies, n: number, when: "before" | "after"): Dependencies {
  let commands = 0;
  return wrapCommands(deps, async (run) => {
    commands += 1;
    if (commands > n || (commands === n && when === "before")) throw new CutOff();
    const handled = await run();
    if (commands === n) throw new CutOff();
    return handled;
  });
}

describe("a direct send that is cut off [d6 emails] [d0 Idempotency-Key]", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id, { canSendCold: true });
  });
  after(() => service.stop());

  const causeOf = (operation?: string): Cause => ({
    actor: { kind: "api_key", id: "key" },
    workspaceId: workspace.id,
    correlationId: randomUUID(),
    causationId: randomUUID(),
    ...(operation !== undefined && { operation }),
  });
  const letter = (text: string) => ({ bodyText: text, bodyHtml: null, attachments: [], cc: [], bcc: [] });
  const sending = (text: string) => {
    const to = [`${text}@x.example`];
    const request = { ...letter(text), workspaceId: workspace.id, identityId: identity.id, to, subject: text };
    return (deps: Dependencies, cause: Cause) => sendEmail(deps, { ...request, metadata: null }, cause);
  };

  async function replying(text: string) {
    await service.deliver(identity.address, mail({ id: `${text}@customer.example`, subject: text }));
    const { json } = await workspace.ask(`GET /v1/threads?identity_id=${identity.id}&limit=1`);
    const request = { ...letter(text), workspaceId: workspace.id, threadId: json.data[0].id, replyAll: false };
    return (deps: Dependencies, cause: Cause) => replyEmail(deps, { ...request, basedOnMessageId: null }, cause);
  }

  /** Interrupts a first run and repeats it. Returns the result of the repetition; null if the first run reached its end. */
  async function repeated(
    run: (deps: Dependencies, cause: Cause) => Promise<DirectlySent>,
    n: number,
    when: "before" | "after",
  ): Promise<DirectlySent | null> {
    const cause = causeOf(randomUUID());
    try {
      await run(cutOffAt(service.deps, n, when), cause);
      return null;
    } catch (error) {
      if (!(error instanceof CutOff)) throw error;
    }
    return run(service.deps, { ...cause, repeated: true });
  }

  /** Returns the texts of the sent mails. */
  const textsThatLeft = async () => {
    const texts: string[] = [];
    for await (const caught of service.outbox.after(0)) texts.push(caught.text.trim());
    return texts;
  };

  const ways: [string, (text: string) => Promise<ReturnType<typeof sending>>][] = [
    ["new mail", async (text) => sending(text)],
    ["reply", replying],
  ];
  for (const [what, prepared] of ways) {
    it(`a direct send that is repeated is sent once, wherever its first run ended: a ${what}`, async () => {
      const usage = async () => (await workspace.ask("GET /v1/workspaces/me")).json.emails_sent_this_period;
      const before = await usage();
      const points = Array.from({ length: 6 }, (_, n) => n + 1).flatMap((n) => [
        [n, "before"] as const,
        [n, "after"] as const,
      ]);
      const runs: { text: string; run: ReturnType<typeof sending>; n: number; when: "before" | "after" }[] = [];
      for (const [n, when] of points) {
        const text = `${what.replace(" ", "")}-${n}-${when}-${randomUUID()}`;
        runs.push({ text, run: await prepared(text), n, when });
      }
      // All repetitions run concurrently: each waits until the reservations of its first run are released.
      const ended = await Promise.all(
        runs.map(async ({ text, run, n, when }) => ({ text, sent: await repeated(run, n, when) })),
      );
      expect(ended.filter(({ sent }) => sent !== null).length).to.be.at.least(8);
      await until(async () => {
        const texts = await textsThatLeft();
        return ended.every(({ text }) => texts.includes(text));
      });
      for (const { sent } of ended) {
        if (!sent) continue;
        await until(async () => {
          await service.caughtUp();
          const drafts = await draftsOfThread(service.deps.reads, workspace.id, sent.threadId);
          return drafts.every(({ status }) => status === "sent");
        });
        const drafts = await draftsOfThread(service.deps.reads, workspace.id, sent.threadId);
        expect(drafts.map(({ id }) => id)).to.deep.equal([sent.draftId]);
      }
      const texts = await textsThatLeft();
      for (const { text } of ended)
        expect(
          texts.filter((each) => each === text),
          text,
        ).to.have.length(1);
      expect(await usage()).to.equal(before + runs.length);
    });
  }

  it("a direct send without an Idempotency-Key that was cut off is not sent later", async () => {
    const outcomes: string[] = [];
    for (const n of [3, 4, 5]) {
      const text = `nokey-${n}-${randomUUID()}`;
      const run = sending(text);
      let caught: unknown;
      // The interrupted run continues here, so its reservations have to be released.
      let commands = 0;
      const cutting = wrapCommands(service.deps, (handle) => {
        if (++commands === n) throw new CutOff();
        return handle();
      });
      await run(cutting, causeOf()).catch((error) => {
        caught = error;
      });
      expect(caught).to.be.instanceOf(CutOff);
      await service.caughtUp();
      const { json } = await workspace.ask(`GET /v1/drafts?identity_id=${identity.id}&limit=100`);
      const draft = json.data.find(({ subject }: any) => subject === text);
      outcomes.push(draft?.status ?? "none");
      expect(await textsThatLeft()).to.not.include(text);
    }
    expect(outcomes).to.satisfy((all: string[]) => all.every((status) => status === "failed" || status === "none"));
  });
});
