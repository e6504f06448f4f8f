import type { SelectedDraft } from "./selectedDraft.ts";

/**
 * True if a draft has no warning, hint or obstacle, its sender is checked, and one approval is enough. Such a draft is approved by one key,
 * and may be on a sheet.
 */
export function isOrdinary({ view, obstacle }: Pick<SelectedDraft, "view" | "obstacle">): boolean {
  const { warnings, hints } = view.card;
  const isChecked = view.answers === null || view.answers.authentication !== null;
  return warnings.length + hints.length === 0 && obstacle === undefined && isChecked && !view.approvals;
}
