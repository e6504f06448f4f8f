import express, { type NextFunction, type Request, type Response, type Router } from "express";
import { allowedUsersOf } from "#src/channels/allowedUsers.ts";
import { type DecisionResult, type LinkedApproval, maxReasonBytes } from "#src/channels/approvalDecisions.ts";
import type { ApproverChoice } from "#src/channels/approvalView.ts";
import { formNames } from "#src/channels/slack/reasonForm.ts";
import { signingSecretOf } from "#src/channels/slack/slackChannel.ts";
import { teamOf } from "#src/channels/slack/slackHosts.ts";
import type { ChatQuestion } from "#src/commands/approvals/chatQuestions.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { isToken } from "../../approvalPages/form.ts";
import { errorHandler } from "../../framework/errorHandler.ts";
import { errorReply } from "../../framework/errors.ts";
import { send } from "../../framework/send.ts";
import { callerOf } from "../../web/linkPages.ts";
import { rawBody } from "../rawBody.ts";
import { askEdit, submitEdit } from "./edits.ts";
import type { ClickResult, SlackHookOptions } from "./options.ts";
import { type Interaction, readInteraction } from "./payload.ts";
import { endOf, notAllowed, notRecorded, otherPlace, sentenceOf, unknownButton } from "./sentences.ts";
import { isFromSlack } from "./signature.ts";

/** Bytes. A click is sent with the message that contains the button, whose size is limited (slackCard.ts). */
const maxBody = 1024 * 1024;

/**
 * Handles clicks and forms in Slack: `POST /hooks/slack/interactions`. A request names a token; it must be signed with the secret of that
 * token's identity, or else the service's own. It can act only on that token.
 */
export function slackInteractions(options: SlackHookOptions): Router {
  const router = express.Router();
  const path = "/hooks/slack/interactions";
  router.post(path, rawBody(maxBody), (request, response, next) => receive(options, { request, response, next }));
  router.use(
    path,
    errorHandler(async ({ error, request, response }) => {
      if (response.headersSent) return void response.destroy();
      const { status } = error as { status?: unknown };
      if (typeof status === "number" && status >= 400 && status < 500) return void response.status(status).end();
      if (!(error instanceof Rejected) && !(error instanceof Unavailable)) options.onError(error);
      await send(response, errorReply(error, { requestId: callerOf(request).requestId ?? "" }));
    }),
  );
  return router;
}

type Call = { request: Request; response: Response; next: NextFunction };

async function receive(options: SlackHookOptions, { request, response, next }: Call): Promise<void> {
  const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const interaction = readInteraction(body);
  const question = await questionOf(options, interaction);
  const secret = question?.channel
    ? signingSecretOf(question.channel.config, options.signingSecret)
    : options.signingSecret;
  const signature = request.get("x-slack-signature");
  const timestamp = request.get("x-slack-request-timestamp");
  if (!secret || !isFromSlack({ signature, timestamp, body }, secret, options.clock.now().getTime())) {
    await options.countUnknown(request);
    if (!secret) return next();
    throw new Rejected("unauthorized", "the call is not signed by the Slack app that this service knows");
  }
  if (!interaction) return void response.status(200).end();
  await acknowledge(options, response, act(options, { interaction, question, requestId: callerOf(request).requestId }));
}

/** The approval request of a token, if it was made in Slack: tokens of mailed links do not work as buttons. */
async function questionOf(
  { question }: SlackHookOptions,
  interaction: Interaction | undefined,
): Promise<ChatQuestion | undefined> {
  const token = interaction?.token;
  const found = token && isToken(token) ? await question(token) : undefined;
  return found?.asked.channel.type === "slack" ? found : undefined;
}

/**
 * Decides first and acknowledges then, so that no acknowledged decision can be lost. If that takes longer than Slack waits, acknowledges
 * receipt and continues: the card keeps its buttons until the decision is recorded, so that after a crash the draft is shown as undecided,
 * which is true.
 */
async function acknowledge(options: SlackHookOptions, response: Response, acting: Promise<ClickResult>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), options.acknowledgeWithinMs ?? 2_000);
  });
  const acted = await Promise.race([acting, late]).finally(() => clearTimeout(timer));
  const shown = acted === "late" ? undefined : acted.shown;
  if (shown) response.status(200).json(shown);
  else response.status(200).end();
  void acting.then(({ after }) => after?.()).catch(options.onError);
}

type ReceivedInteraction = {
  interaction: Interaction;
  question: ChatQuestion | undefined;
  requestId: string | undefined;
};

async function act(options: SlackHookOptions, asked: ReceivedInteraction): Promise<ClickResult> {
  const { interaction, question } = asked;
  const { kind, responseUrl } = interaction;
  if (kind === "none") return {};
  const tell = (sentence: string): ClickResult => ({ after: () => options.replies.tell(responseUrl, { sentence }) });
  const token = interaction.token as string;
  if (!question || question.asked.decision !== tokenKinds[kind]) return tell(unknownButton);
  if (!isAllowed(interaction, question)) return tell(notAllowed);
  if ("messageId" in interaction && !isThere(interaction, question)) return tell(otherPlace);
  try {
    if (kind === "ask_reason" || kind === "ask_changes")
      return { after: () => askText(options, { interaction, question, token }) };
    if (kind === "ask_edit") return { after: () => askEdit(options, { interaction, question, token }) };
    if (kind === "edit") return await submitEdit(options, { interaction, token, requestId: asked.requestId });
    return await decide(options, { ...asked, token });
  } catch (error) {
    void options.replies.tell(responseUrl, { sentence: notRecorded });
    throw error;
  }
}

/** The decision that the token of each press or form was issued for. The token to reject never approves. */
const tokenKinds: Record<Exclude<Interaction["kind"], "none">, "approve" | "reject"> = {
  ...{ approve: "approve", ask_edit: "approve", edit: "approve" },
  ...{ ask_reason: "reject", ask_changes: "reject", reject: "reject", request_changes: "reject" },
};

/** True if the person may decide in the channel: everyone, unless the channel names users. */
function isAllowed({ by }: Interaction, { channel }: ChatQuestion): boolean {
  const allowed = allowedUsersOf(channel?.config ?? {});
  return allowed === null || allowed.includes(by.id);
}

type ClickOrigin = Pick<Extract<Interaction, { messageId: unknown }>, "team" | "chat" | "messageId">;

/**
 * True if the click came from the message that asked, as far as Slack names it. For a webhook's message only the Slack workspace is known:
 * one app may be installed in several, whose members could put any button under one of the app's messages.
 */
function isThere({ team, chat, messageId }: ClickOrigin, { message, channel }: ChatQuestion): boolean {
  if (message !== null) return chat === message.chat && messageId !== null && message.ids.includes(messageId);
  const asked = teamOf(channel?.config.webhook_url ?? "");
  return asked === null || team === null || team === asked;
}

async function decide(
  options: SlackHookOptions,
  { interaction, requestId, token }: ReceivedInteraction & { token: string },
): Promise<ClickResult> {
  const { by, responseUrl } = interaction;
  const decision = decisionOf(interaction);
  const reason = "reason" in interaction ? interaction.reason : "";
  if (decision === "request_changes" && reason === "") return { shown: errorsOf("Please write what to change.") };
  if (Buffer.byteLength(reason) > maxReasonBytes) return { shown: tooLong };
  const result = await options.decide({
    token,
    decision,
    reason: reason || undefined,
    by: { kind: "slack", id: by.id, name: by.name },
    // The caller's address is Slack's, not the person's.
    ip: undefined,
    userAgent: undefined,
    requestId,
  });
  const press = { by: by.name, at: options.clock.now().toISOString(), reason };
  return {
    async after() {
      const view = await options.find(token).catch(() => undefined);
      const sentence = sentenceOf(result, press, view);
      // Other approvers still need these buttons, or this person may decide again.
      if (keepsButtons(result)) return options.replies.tell(responseUrl, { sentence });
      await options.replies.conclude(responseUrl, { sentence, threadSubject: view?.threadSubject ?? "" });
    },
  };
}

const keepsButtons = (result: DecisionResult): boolean =>
  result.kind === "vote_counted" || (result.kind === "already_decided" && result.view.decided?.undoable === true);

const decisionOf = ({ kind }: Interaction): ApproverChoice =>
  kind === "reject" || kind === "request_changes" ? kind : "approve";

/** Slack's answer that shows a sentence under the form's field. */
const errorsOf = (sentence: string) => ({ response_action: "errors", errors: { [formNames.field]: sentence } });

const tooLong = errorsOf(`Please shorten the text to ${maxReasonBytes.toLocaleString("en")} bytes.`);

/** Opens the form for a text; or reports that nothing can be decided any more; or links to the page if no form can be opened. */
async function askText(
  options: SlackHookOptions,
  { interaction, question, token }: { interaction: Interaction; question: ChatQuestion; token: string },
): Promise<void> {
  const { replies, publicUrl, clock } = options;
  const { responseUrl } = interaction;
  const link: LinkedApproval | undefined = await options.find(token);
  const ended = link && endOf(link, clock.now().getTime());
  const threadSubject = link?.threadSubject ?? "";
  if (ended && link?.decided?.undoable) return replies.tell(responseUrl, { sentence: ended });
  if (ended) return replies.conclude(responseUrl, { sentence: ended, threadSubject });
  const triggerId = "triggerId" in interaction ? interaction.triggerId : "";
  const form = interaction.kind === "ask_changes" ? "request_changes" : "reject";
  const config = question.channel?.config ?? {};
  if (await replies.openReasonForm({ form, config, triggerId, token, responseUrl, threadSubject })) return;
  const page =
    form === "reject"
      ? { url: `${publicUrl}/a/${token}?d=reject`, name: "Reject on the page" }
      : { url: `${publicUrl}/a/${token}?d=reject#changes-form`, name: "Ask for changes on the page" };
  await replies.tell(responseUrl, { sentence: "The form for your text cannot be opened in Slack.", page });
}
