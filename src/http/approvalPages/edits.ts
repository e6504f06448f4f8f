import type { Request } from "express";
import type { DecisionResult, LinkedApproval } from "#src/channels/approvalDecisions.ts";
import type { Reply } from "../framework/reply.ts";
import { callerOf, linkPage } from "../web/linkPages.ts";
import { editPreviewPage } from "./editPages.ts";
import type { EditForm } from "./form.ts";
import { checkNonce, issueNonce } from "./nonce.ts";
import * as pages from "./outcomePages.ts";
import {
  type ApprovalPagesOptions,
  codeNotice,
  editAction,
  isCodeRefused,
  isUndoable,
  notFromPage,
  resultPage,
  review,
  tokenOf,
  wayOn,
} from "./replies.ts";

const notHere = "Approvers cannot edit this draft on this page.";

type EditPress = { link: LinkedApproval; form: EditForm };

/**
 * Handles the form of an edit. The first button shows the preview, which stores nothing; the last press edits and approves, and needs the
 * code of the mail and the nonce of a preview of this very text.
 */
export async function pressEdit(options: ApprovalPagesOptions, request: Request, press: EditPress): Promise<Reply> {
  const { link, form } = press;
  const { act, subject, text, nonce, previewed, code } = form;
  if (link.editing !== "here") return linkPage(409, pages.editRefusedPage(notHere));
  const typed = { subject, text };
  if (act === "back") return linkPage(200, review(options, request, { link, edit: { typed } }));
  const bound = { ...link, token: tokenOf(request), decision: "edit" as const };
  const shown = { nonce, nowMs: options.clock.now().getTime() };
  const judged = checkNonce(options.nonceKey, act === "send" ? { ...bound, editedSha256: previewed } : bound, shown);
  if (judged !== "good")
    return linkPage(403, review(options, request, { link, edit: { typed }, notice: notFromPage[judged] }));
  if (act === "preview") return preview(options, request, press);
  const edit = { ...typed, previewedSha256: previewed };
  const result = await options.decide({
    ...{ token: bound.token, decision: "edit", edit, reason: undefined, code, undoable: true },
    ...callerOf(request),
  });
  if (isCodeRefused(result)) {
    const status = result.kind === "code_wrong" ? 403 : 422;
    return preview(options, request, { ...press, notice: { status, sentence: codeNotice(result) } });
  }
  if (result.kind === "edit_refused") return refused(options, request, { ...press, result });
  // The outcome shows the edited version, whose approval the link's holder can undo.
  const edited = (await options.find(bound.token)) ?? link;
  const undoable = isUndoable(result);
  return resultPage(result, edited, await wayOn(options, request, { link: edited, undoable }));
}

async function preview(
  options: ApprovalPagesOptions,
  request: Request,
  { link, form, notice }: EditPress & { notice?: { status: number; sentence: string } },
): Promise<Reply> {
  const { subject, text } = form;
  const token = tokenOf(request);
  const result = await options.previewEdit({ token, subject, text });
  if (result.kind === "edit_refused") return refused(options, request, { link, form, result });
  if (result.kind !== "preview") return resultPage(result, link, {});
  const { view, editedSha256 } = result;
  const bound = { ...link, token, decision: "edit" as const, editedSha256 };
  const nonce = issueNonce(options.nonceKey, bound, options.clock.now().getTime());
  return linkPage(
    notice?.status ?? 200,
    editPreviewPage(view, {
      action: editAction(request),
      nonce,
      typed: { subject, text },
      editedSha256,
      notice: notice?.sentence,
    }),
  );
}

/** Shows the edit again with the reason why it cannot be made. */
function refused(
  options: ApprovalPagesOptions,
  request: Request,
  { link, form, result }: EditPress & { result: Extract<DecisionResult, { kind: "edit_refused" }> },
): Reply {
  const { subject, text } = form;
  const { sentence, field } = result;
  return linkPage(
    422,
    review(options, request, {
      link,
      notice: sentence,
      edit: { typed: { subject, text }, refused: { sentence, field } },
    }),
  );
}
