import { expect } from "chai";
import { learnMessageId } from "#src/commands/sends/deliveryReports.ts";
import { operator } from "#test/support/cause.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("a Message-ID that a relay tells late [d5 threads]", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory());
  });
  after(() => service.stop());

  const forms = {
    "alone by the next mail": (relay: string) => [relay],
    "with the answer's own": (relay: string, answer: string) => [relay, answer],
    "after the first mail's": (relay: string, answer: string, first: string) => [first, relay, answer],
  };
  for (const [how, namedIn] of Object.entries(forms))
    it(`an answer that named it has a thread of its own, until it is named ${how}; then the newest word counts`, async () => {
      const relay = `${Math.random().toString(36).slice(2)}@relay.example`;
      const first = await tenant.mail();
      const waiting = await tenant.draft(first);
      const answer = await tenant.draft(first);
      await answer.sendNow();
      const early = await tenant.mail({ inReplyTo: relay });
      expect(early.threadId).not.to.equal(first.threadId);
      const { attemptId } = (await service.deps.drafts.load(answer.id)).state;
      const learned = { attemptId: attemptId as string, rfcMessageId: `<${relay}>` };
      await learnMessageId(service.deps, learned, operator(tenant.id));
      await service.caughtUp();
      // An automatic mail joins the threads too, and is not the newest word itself.
      const automatic = ["Auto-Submitted: auto-replied"];
      await tenant.mail({ inReplyTo: namedIn(relay, early.id, first.id), headers: automatic });
      expect((await tenant.thread(first)).messages_total).to.equal(4);
      expect((await waiting.read()).newer_message_id).to.equal(early.messageId);
      expect((await waiting.ask("POST send")).outcome).to.equal("409 stale_draft");
    });
});
