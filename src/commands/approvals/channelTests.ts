import { unlinked } from "#src/channels/email/excerpt.ts";
import { renderNoticeMail } from "#src/channels/email/noticeMail.ts";
import { shortLine } from "#src/html/visible.ts";
import { noThread } from "#src/mail/out/messageIds.ts";
import { invalidRequest, Rejected } from "#streams/decider.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { newId } from "../ids.ts";
import type { Outlets } from "../rules/ruleNotices.ts";
import { postNotice } from "../serviceMail/postNotice.ts";
import { type NoticeOutcome, sendNotice } from "../serviceMail/sendNotice.ts";
import { isHostedHere, openedChannel } from "./approvalChannels.ts";
import { type ChannelSlot, channelOf } from "./askApprovers.ts";
import { addressOf } from "./channelAddresses.ts";

type ChannelTestRequest = { workspaceId: string; identityId: string; slot: ChannelSlot };

/**
 * Requests a test notification through one of an identity's channels as set now; its result is read by the returned id. Throws Rejected
 * not_found, invalid_request (no such channel is set).
 */
export async function requestChannelTest(
  deps: Dependencies,
  { workspaceId, identityId, slot }: ChannelTestRequest,
  cause: Cause,
): Promise<{ testId: string; position: number }> {
  const { state: identity } = await deps.identities.load(identityId);
  if (!identity.exists || identity.deleted || identity.workspaceId !== workspaceId)
    throw new Rejected("not_found", "no such identity");
  const channel = channelOf(identity, slot);
  if (!channel) throw invalidRequest("channel", `this identity has no ${slot} approval channel: set one first`);
  const address = addressOf(openedChannel(deps, { workspaceId, slot }, channel));
  const testId = newId(deps, cause, "channel-test");
  const at = deps.clock.now().toISOString();
  const tested = { slot, type: channel.type, address };
  const command = { type: "RequestChannelTest", workspaceId, identityId, channel: tested, at } as const;
  const { position } = await deps.channelTests.handle(testId, command, cause);
  return { testId, position };
}

/**
 * Sends the test once and records the result. Returns if a later try may help. An interrupted try is repeated with the
 * same Message-ID. Throws PausedByOperator.
 */
export async function tryChannelTest(
  deps: Dependencies,
  { outlets, testId, lastTry }: { outlets: Outlets; testId: string; lastTry: boolean },
  cause: Cause,
): Promise<{ again: boolean }> {
  const { state: test } = await deps.channelTests.load(testId);
  if (!test.exists || test.endedAt !== null) return { again: false };
  const outcome = await attempt(deps, outlets, testId);
  const at = deps.clock.now().toISOString();
  if (outcome.sent) {
    await deps.channelTests.handle(testId, { type: "RecordTestDelivered", at }, cause);
    return { again: false };
  }
  const final = lastTry || !outcome.again;
  const { error } = outcome;
  await deps.channelTests.handle(testId, { type: "RecordTestFailed", error, final, at }, cause);
  return { again: !final };
}

async function attempt(deps: Dependencies, outlets: Outlets, testId: string): Promise<NoticeOutcome> {
  const { state: test } = await deps.channelTests.load(testId);
  const { workspaceId, identityId, channel: tested } = test;
  const { state: identity } = await deps.identities.load(identityId);
  const stored = tested && !identity.deleted ? channelOf(identity, tested.slot) : null;
  const channel = stored && tested && openedChannel(deps, { workspaceId, slot: tested.slot }, stored);
  if (!channel || channel.type !== tested.type || addressOf(channel) !== tested.address)
    return never("the approval channel changed after this test was requested: send another test");
  const { emailAddress } = identity;
  if (channel.type === "email")
    return mailed(deps, outlets, { testId, workspaceId, identityId, emailAddress, channel });
  const lines = linesOf(emailAddress);
  return postNotice(deps, outlets.channels, { kind: "test", workspaceId, attemptId: testId, channel, lines });
}

type TestMail = Omit<ChannelTestRequest, "slot"> & { testId: string; emailAddress: string; channel: ApprovalChannel };

async function mailed(
  deps: Dependencies,
  { provider }: Outlets,
  { testId, workspaceId, identityId, emailAddress, channel }: TestMail,
): Promise<NoticeOutcome> {
  const to = channel.config.to as string;
  // The address's domain may have been added to this service since the channel was set.
  if (await isHostedHere(deps, to))
    return never("the approver's address is hosted by this service, so it cannot approve: set another address");
  const lines = linesOf(emailAddress).map(unlinked);
  return sendNotice(deps, provider, {
    kind: "test",
    workspaceId,
    origin: { identityId, threadId: noThread, attemptId: testId },
    to,
    subject,
    ...renderNoticeMail({ subject, paragraphs: lines }),
  });
}

const subject = "Test notification";

/** Lines of the test; the address is text by a tenant, so it is quoted and shortened. */
const linesOf = (emailAddress: string): string[] => [
  `This is a test. Requests to approve mail from “${shortLine(emailAddress, 100)}” will arrive here.`,
  "You do not need to do anything.",
];

const never = (error: string): NoticeOutcome => ({ sent: false, error, again: false });
