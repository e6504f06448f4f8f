import { expect } from "chai";
import { PausedByOperator, pauseInstallation, resumeInstallation } from "#src/commands/installation.ts";
import { sendNotice } from "#src/commands/serviceMail/sendNotice.ts";
import { newUnsubscribeToken, unsubscribeLinks } from "#src/commands/serviceMail/unsubscribes.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { escalateUnanswered } from "#src/processes/escalateUnanswered.ts";
import { setAsideWhilePaused } from "#src/processes/setAsideWhilePaused.ts";
import { fire } from "#test/support/processContext.ts";
import { cause, createSendWorld, identityId, workspaceId } from "./sendWorld.ts";

const minute = 60_000;
const origin = { identityId, threadId: identityId, attemptId: identityId };
const mail = { to: "ann@approvers.example", subject: "News", text: "News.", html: "<p>News.</p>" };
const notice = { kind: "approval", workspaceId, origin, ...mail } as const;

describe("an installation paused by the operator", () => {
  it("the service's own mail is not sent if the operator pauses, or its reader stops it, while connecting", async () => {
    const { node, elsewhere } = await createSendWorld();
    const taken: string[] = [];
    let onConnecting = (): unknown => pauseInstallation(elsewhere(), null, cause);
    const provider: MailProvider = {
      name: "smtp",
      async connect() {
        await onConnecting();
        return {
          async handOver({ envelope }, mayWrite) {
            if (!(await mayWrite())) return { kind: "not_handed_over", message: "it may not leave" };
            taken.push(...envelope.to);
            return { kind: "accepted", response: "250 ok" };
          },
          discard() {},
        };
      },
      async close() {},
    };
    expect(await sendNotice(node, provider, notice).catch((error) => error)).to.be.instanceOf(PausedByOperator);
    expect(taken).to.deep.equal([]);
    onConnecting = () => undefined;
    await resumeInstallation(elsewhere(), null, cause);
    expect(await sendNotice(node, provider, notice)).to.deep.equal({ sent: true });
    expect(taken).to.deep.equal([notice.to]);
    // The mail is not sent either if its reader stops it meanwhile.
    const token = await newUnsubscribeToken(node, { workspaceId, address: notice.to });
    onConnecting = () =>
      unsubscribeLinks(node).change(token, "stop", { ip: undefined, userAgent: undefined, requestId: "1" });
    expect(await sendNotice(node, provider, notice)).to.include({ sent: false, again: false });
    expect(taken).to.deep.equal([notice.to]);
  });

  it("a draft does not escalate while the operator has paused, and does so after the resumption", async () => {
    const world = await createSendWorld();
    const email = (to: string) => ({ type: "email" as const, config: { to } });
    await world.changeIdentity({
      approvalChannel: email("first@approvers.example"),
      secondaryApprovalChannel: email("second@approvers.example"),
      escalationDelayMinutes: 30,
    });
    const draftId = await world.submit();
    await pauseInstallation(world.elsewhere(), null, cause);
    world.sleepThrough(31 * minute);
    const process = setAsideWhilePaused(escalateUnanswered(world.node));
    const due = { key: draftId, name: "escalate", dueAt: world.clock.now(), payload: { ...cause } };
    const answer = await fire(process, due, { clock: world.clock });
    expect(answer).to.deep.equal({ setAside: [{ stream: "installation-main", revision: 0 }] });
    expect((await world.state.draft(draftId)).escalatedVersion).to.equal(0);
    await resumeInstallation(world.elsewhere(), null, cause);
    await fire(process, due, { clock: world.clock });
    expect((await world.state.draft(draftId)).escalatedVersion).to.equal(1);
  });
});
