import { heldOfThread, lastMessagesOfThread } from "#projections/messages/queries.ts";
import { replyPreview } from "#src/commands/emails/replyPreview.ts";
import type { WireDraft } from "../../present/drafts.ts";
import { findThread } from "../../threads.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleAnswer, seeOther, shown } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import type { TypedReply } from "./replyForm.ts";
import { readerOf, threadPage, threadTitle } from "./threadPage.ts";
import { type FormResult, threadView } from "./threadView.ts";

/** Shows the page again after a form that was not carried out. */
export async function threadAgain(
  deps: ConsoleDependencies,
  context: PageContext,
  { status, ...afterwards }: FormResult & { status: number },
): Promise<ConsoleAnswer> {
  const view = await threadView(deps, context, afterwards);
  return shown({
    title: `Not done: ${threadTitle(view)}`,
    main: threadPage(view, readerOf(context)),
    status,
    wide: true,
  });
}

/** Sends the person's own reply, unless a newer message arrived since the one shown. */
export async function writeReply(deps: ConsoleDependencies, context: PageContext): Promise<ConsoleAnswer> {
  const { id } = context.params as { id: string };
  const { form } = context;
  const written: TypedReply = {
    body_text: (form.get("body_text") ?? "").replace(/\r\n/g, "\n"),
    reply_all: form.get("reply_all") === "true",
    cc: form.get("cc") ?? "",
    bcc: form.get("bcc") ?? "",
  };
  const basedOn = form.get("based_on_message_id");
  const newer = await newerThan(deps, context, basedOn);
  if (newer === "held") {
    const message = "A newer message is held: a reply can be sent once it is released.";
    return threadAgain(deps, context, { status: 409, written, replyRefused: { message } });
  }
  if (newer !== undefined) {
    return threadAgain(deps, context, { status: 409, written, isOvertaken: true, openToo: [newer] });
  }
  const asDraft = form.get("how") === "draft";
  const write = asDraft ? storeDraft : send;
  let draft: Pick<WireDraft, "id" | "status"> | undefined;
  const refused = await context.attempt(async () => {
    draft = await write(deps, context, { written, basedOn });
  });
  // If more approvals are required, the reply waits for them.
  if (draft?.status === "pending") return seeOther(`/drafts/${draft.id}`, "replyKept");
  // The identity may approve drafts automatically.
  if (draft && asDraft) return seeOther(`/drafts/${draft.id}`, "replyApprovedAtOnce");
  if (!refused) return seeOther(`/threads/${id}`, "replySent");
  const isOvertaken = refused.code === "stale_draft";
  return threadAgain(deps, context, {
    status: refused.status,
    written,
    ...(isOvertaken ? { isOvertaken } : { replyRefused: { ...refused, field: fieldOf(refused.field) } }),
  });
}

/** The name of the form's field: `cc` for `cc[1]`, because the API names the exact address in a list. */
const fieldOf = (field: string | undefined): string | undefined => field?.match(/^\w+/)?.[0];

type Reply = { written: TypedReply; basedOn: string | null };

const send = (_: ConsoleDependencies, context: PageContext, { written, basedOn }: Reply) =>
  context.ask("POST /v1/threads/:id/reply", {
    params: { id: context.params.id as string },
    body: {
      based_on_message_id: basedOn,
      body_text: written.body_text,
      reply_all: written.reply_all,
      cc: addressesIn(written.cc),
      bcc: addressesIn(written.bcc),
    },
  });

/** Stores the reply as a draft, for a later decision by another person. */
async function storeDraft(deps: ConsoleDependencies, context: PageContext, { written, basedOn }: Reply) {
  const { workspaceId } = context.principal;
  const found = await findThread(deps, workspaceId, context.params.id as string);
  const preview = basedOn === null ? undefined : await replyPreview(deps, { workspaceId, messageId: basedOn });
  const everybody = written.reply_all ? (preview?.everybody ?? []) : [];
  const named = addressesIn(`${written.cc} ${written.bcc}`).map((address) => address.toLowerCase());
  return context.ask("POST /v1/drafts", {
    body: {
      thread_id: context.params.id,
      identity_id: found?.survivor.identity_id,
      based_on_message_id: basedOn,
      body_text: written.body_text,
      cc: [...addressesIn(written.cc), ...everybody.filter((address) => !named.includes(address.toLowerCase()))],
      bcc: addressesIn(written.bcc),
    },
  });
}

/** The message that arrived since `basedOn`, or that newer mail is held. Undefined if `basedOn` is still the newest. */
async function newerThan(
  deps: ConsoleDependencies,
  { principal: { workspaceId }, params }: PageContext,
  basedOn: string | null,
): Promise<string | "held" | undefined> {
  const found = await findThread(deps, workspaceId, params.id as string);
  // The route refuses a conversation without an identity.
  if (!found) return undefined;
  const threadId = found.survivor.id;
  const [last, [held]] = await Promise.all([
    lastMessagesOfThread(deps.reads, workspaceId, threadId),
    heldOfThread(deps.reads, workspaceId, { threadId, count: 1 }),
  ]);
  const newest = last.word ?? last.machine;
  if (newest && newest.id !== basedOn) return newest.id;
  return held && (!newest || held.received_at >= newest.received_at) ? "held" : undefined;
}

const addressesIn = (text: string): string[] =>
  text
    .split(/[,;\s]+/)
    .map((address) => address.trim())
    .filter((address) => address !== "");
