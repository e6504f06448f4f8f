import { Rejected } from "../decider.ts";
import { type Press, recordUnconfirmedPress } from "./confirmation.ts";
import type { ContentOrigin } from "./content.ts";
import { type Draft, pickOrigin, requireStatus } from "./draft.ts";
import type { DraftEvent, EditReason, StoredContent } from "./events.ts";
import { requireOpenLink } from "./notification.ts";
import { requireShown } from "./shown.ts";
import type { VersionWarning } from "./warnings.ts";

/** Command of an edit, with the new content. */
export type EditDraft = {
  type: "EditDraft";
  contentSha256: string;
  rationale: string | null;
  changedFields: string[];
  because: EditReason;
  /** Warnings about the new version. */
  warnings?: VersionWarning[];
  /** The version the editor saw; null if not given. */
  ifVersion: number | null;
} & StoredContent &
  ContentOrigin;

/**
 * An edit where the card is: by an approver's link or button. `shownSha256`: hash of the version that the approver edited.
 * `previewedSha256`: hash of the edited content that the approver was shown before the last press.
 */
export type ChannelPress = Press & { shownSha256: string; previewedSha256: string };

/** Returns the event of a new version; none if nothing changed. Throws Rejected invalid_status, version_mismatch. */
export function edit(command: EditDraft, draft: Draft): DraftEvent[] {
  // A change by the service itself also applies to approved drafts, and withdraws their approval: it was for other content.
  if (command.because !== "edit") {
    if (draft.status !== "pending" && draft.status !== "approved") return [];
    if (command.contentSha256 === draft.contentSha256) return [];
  } else {
    requireStatus(draft, "edited", "pending");
  }
  requireShown(command.ifVersion, null, draft);
  if (command.changedFields.length === 0) return [];
  const { content, contentBlob, contentSha256, rationale, changedFields, because, warnings } = command;
  const version = draft.version + 1;
  return [
    {
      type: "DraftEdited",
      data: {
        version,
        content,
        contentBlob,
        ...pickOrigin(command),
        contentSha256,
        rationale,
        changedFields,
        because,
        ...(warnings && { warnings }),
      },
    },
  ];
}

/**
 * Judges the last press of an edit where the card is. Returns the events of a press without the required code; null if the press is valid.
 * The approver edited this version, and was shown this content. Throws Rejected invalid_status, version_mismatch, link_closed.
 */
export function judgeChannelPress(press: ChannelPress, command: EditDraft, draft: Draft): DraftEvent[] | null {
  requireStatus(draft, "edited", "pending");
  requireShown(command.ifVersion, press.shownSha256, draft);
  requireOpenLink(draft, press.tokenSha256);
  if (command.contentSha256 !== press.previewedSha256) {
    throw new Rejected("version_mismatch", "the text is not the one that was shown: check it again", {
      version: draft.version,
    });
  }
  return recordUnconfirmedPress(press, draft);
}
