import type {
  ChatPerson,
  DecideRequest,
  DecisionResult,
  EditedText,
  EditPreview,
  LinkResult,
} from "#src/channels/approvalDecisions.ts";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { asSentence } from "#src/html/asSentence.ts";
import { invalidRequest, Rejected } from "#streams/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { changeDraft } from "../drafts/changeDraft.ts";
import { loadContent, storeContent } from "../drafts/draftContents.ts";
import { type DraftChanges, unstoredEdit } from "../drafts/drafts.ts";
import { shownPictures } from "../drafts/shownPictures.ts";
import type { Cause } from "../handle.ts";
import { resolveToken } from "./approvalTokens.ts";
import { approvalView } from "./approvalViews.ts";
import { withCard } from "./cards.ts";
import { countedApproval } from "./countApproval.ts";
import { whyNoEdit } from "./editByChannel.ts";
import { afterApproval, endIfStale, type LinkDependencies, requireShown, shown, voteCounted } from "./linkOutcomes.ts";
import { type CodedPress, mayPress, oncePerStream, refuseCode } from "./linkPresses.ts";
import { undoWindow } from "./undoWindow.ts";

/** Maximum bytes (UTF-8) of each part, the same as in a request. */
const maxBytes = { subject: 998, text: 256 * 1024 } as const;

const unchanged = "Nothing is changed yet: change the text, or approve the draft as it is.";

const notPreviewed = "The text is not the one that you were shown. Check it again.";

/** Shows the edited draft with its changes, for the approver's last press. Stores nothing. */
export async function previewEdit(
  deps: LinkDependencies,
  { token, by, ...edit }: EditedText & { token: string; by?: ChatPerson | undefined },
): Promise<EditPreview | LinkResult> {
  const link = await resolveToken(deps, token);
  if (!link) return { kind: "unknown" };
  const may = await mayPress(deps, link, { by });
  if ("refused" in may) return may.refused;
  const { draftId, draft, asked, position } = link;
  const { state: identity } = await deps.identities.load(draft.identityId);
  const why = whyNoEdit({ identity, asked, isInChat: by !== undefined, hasHtml: await hasHtml(deps, draft) });
  if (why !== null) return { kind: "edit_refused", sentence: why };
  return orRefused(async () => {
    const made = await unstoredEdit(deps, await personsEdit(deps, draft, edit));
    if (made.changedFields.length === 0) return { kind: "edit_refused", sentence: unchanged };
    await requireShown(deps, position, shown.question);
    const { version, expiresAt } = asked;
    const view = editedView(await approvalView(deps, { draftId, draft, version, expiresAt }), made);
    const pictures = await shownPictures(deps, view.content);
    const carded = await withCard(deps, draft.workspaceId, { ...view, pictures });
    return { kind: "preview", view: carded, editedSha256: made.contentSha256 };
  });
}

/** The view of the version that the edit would make, compared with the version that the approver edited. */
const editedView = (
  view: ApprovalView,
  { content, contentSha256, textDerived, htmlRemoved }: Awaited<ReturnType<typeof unstoredEdit>>,
): ApprovalView => ({
  ...view,
  ...{ version: view.version + 1, content, contentSha256, textDerived: textDerived === true, htmlRemoved },
  previous: {
    version: view.version,
    content: view.content,
    textDerived: view.textDerived,
    rationale: view.rationale,
    because: [],
  },
  // The edit answers an open request for changes.
  changesMade: view.changesRequested,
});

/** Appends an approver's edit and its approval together: the last press, bound to what was shown. */
export async function editAndApprove(
  deps: LinkDependencies,
  { press, edit, isInChat }: { press: CodedPress; edit: NonNullable<DecideRequest["edit"]>; isInChat: boolean },
  cause: Cause,
): Promise<DecisionResult> {
  const { draftId, draft, asked, tokenSha256, codeMacs, isWrongCode } = press;
  const ended = await endIfStale(deps, press, cause);
  if (ended) return ended;
  const approval = { draftId, identityId: draft.identityId, actor: cause.actor, channel: asked.channel };
  const { identity, voting, unlessMoved } = await countedApproval(deps, approval);
  const why = whyNoEdit({ identity, asked, isInChat, hasHtml: await hasHtml(deps, draft) });
  if (why !== null) return { kind: "edit_refused", sentence: why };
  return orRefused(async () => {
    const made = await unstoredEdit(deps, await personsEdit(deps, draft, edit));
    const sendRequested = identity.sendOnChannelApproval;
    const { contentSha256: shownSha256 } = asked;
    const command = {
      type: "EditAndApprove",
      edit: { ...made, ifVersion: asked.version },
      authorApproval: { voting, sendRequested, ...(press.undoable && { undoWindow: undoWindow(deps) }) },
      inChannel: { tokenSha256, codeMacs, shownSha256, previewedSha256: edit.previewedSha256 },
    } as const;
    if (made.contentSha256 !== edit.previewedSha256) return { kind: "edit_refused", sentence: notPreviewed };
    if (isWrongCode) return refuseCode(deps, { press, command }, cause);
    const stored = { ...command, edit: { ...command.edit, ...(await storeContent(deps.blobs, made.content)) } };
    const handled = await changeDraft(
      deps,
      { draftId, command: stored, recorded: "approve:recorded" },
      { ...cause, unlessMoved: oncePerStream([...press.judgedBy, ...unlessMoved]) },
    );
    if (handled.state.status === "pending") return voteCounted(deps, { draftId, identity, handled });
    return afterApproval(deps, { draftId, draft: handled.state, tokenSha256, sendRequested });
  });
}

const hasHtml = async ({ blobs }: LinkDependencies, { stored }: Draft): Promise<boolean> =>
  (await loadContent(blobs, stored)).body_html !== null;

/** Judges an approver's words like a submission's, and names only the parts that they changed. Throws Rejected invalid_request. */
async function personsEdit(deps: LinkDependencies, draft: Draft, { subject, text }: EditedText) {
  const before = await loadContent(deps.blobs, draft.stored);
  const typed = { subject: subject.replace(/\s+/g, " ").trim(), text };
  if (typed.subject === "") throw invalidRequest("subject", "the subject is empty");
  for (const part of ["subject", "text"] as const) {
    if (Buffer.byteLength(typed[part]) <= maxBytes[part]) continue;
    throw invalidRequest(part, `at most ${maxBytes[part].toLocaleString("en")} bytes`);
  }
  const changes: DraftChanges = {};
  if (typed.subject !== before.subject.replace(/\s+/g, " ").trim()) changes.subject = typed.subject;
  if (!hasSameLines(typed.text, before.body_text)) changes.bodyText = typed.text;
  return { draft, edit: { ifVersion: null, changes, threadSubject: before.subject }, isPersons: true };
}

/** True if the texts differ in nothing but their kinds of line breaks and the blanks around them, which forms and chats change. */
const hasSameLines = (one: string, other: string): boolean => plainLines(one) === plainLines(other);

const plainLines = (text: string): string => text.replace(/\r\n?/g, "\n").trim();

/** Returns an invalid edit as a result that says so. */
async function orRefused<T>(work: () => Promise<T>): Promise<T | LinkResult> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Rejected) || error.code !== "invalid_request") throw error;
    const field = error.details.field === "subject" ? "subject" : "text";
    const { message } = error;
    return { kind: "edit_refused", sentence: asSentence(message.replace(/^\w+: /, "")), field };
  }
}
