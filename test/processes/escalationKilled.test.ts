import { expect } from "chai";
import { submitDraft } from "#src/commands/drafts/submitDraft.ts";
import { createStreamServices } from "#src/commands/handle.ts";
import { openMailer } from "#test/mail/in/smtpSender.ts";
import { operator } from "#test/support/cause.ts";
import { describeInFull, itInFull } from "#test/support/full.ts";
import { until } from "#test/support/inProcess.ts";
import { type Installation, openInstallation } from "#test/support/installation.ts";
import { askQuestion, openTenant, type Question } from "#test/support/tenant.ts";

const minute = 60_000;
const approvers = Array.from({ length: 5 }, (_, n) => `second-${n}@approvers.example`);

describeInFull("escalation by two instances, one of them killed [d7 escalation]", () => {
  let installation: Installation;
  before(async () => {
    installation = await openInstallation();
  });
  after(() => installation.close());

  /** Submits a draft as of nearly a minute ago, so that the test need not wait for the shortest delay. */
  const submitEarlier = (workspaceId: string, { threadId, messageId, identityId }: Question): Promise<string> =>
    installation.withCommands(async (deps) => {
      const clock = { ...deps.clock, now: () => new Date(Date.now() - minute + 6_000) };
      const request = {
        ...{ workspaceId, threadId, identityId, basedOnMessageId: messageId, bodyText: "Tomorrow.", bodyHtml: null },
        ...{ subjectOverride: null, cc: [], bcc: [], rationale: null, metadata: null, attachments: [] },
      };
      const earlier = { ...deps, clock, ...createStreamServices({ ...deps, clock }) };
      return (await submitDraft(earlier, request, operator(workspaceId))).draftId;
    });

  itInFull("each secondary channel is asked once although the instance that held the timers is killed", async () => {
    const [first, second] = [await installation.start(), await installation.start()];
    const mailer = await openMailer(second.smtpPort);
    const waiting: { workspaceId: string; question: Question }[] = [];
    for (const to of approvers) {
      const secondary_approval_channel = { type: "email", config: { to } };
      const settings = { secondary_approval_channel, escalation_delay_minutes: 1 };
      const tenant = await openTenant(installation, second, settings);
      waiting.push({ workspaceId: tenant.workspaceId, question: await askQuestion(installation, tenant, { mailer }) });
    }
    mailer.close();
    const drafts: string[] = [];
    for (const { workspaceId, question } of waiting) drafts.push(await submitEarlier(workspaceId, question));
    const timers = async () =>
      (await installation.rows("select 1 from work.items where process = 'escalateUnanswered' and timer is not null"))
        .length;
    await until(async () => (await timers()) === approvers.length);
    await first.kill("SIGKILL");

    const asked = () => installation.relay.mails.flatMap(({ to }) => to).filter((to) => to.startsWith("second-"));
    await until(async () => asked().length >= approvers.length, 60_000);
    await installation.start();
    await until(async () => (await timers()) === 0);
    const escalations = await installation.rows<{ draft: string }>(
      "select stream_id as draft from es.events where type = 'DraftEscalated'",
    );
    expect(escalations.map(({ draft }) => draft).sort()).to.deep.equal(drafts.map((id) => `draft-${id}`).sort());
    expect(asked().sort()).to.deep.equal(approvers);
  });
});
