import { type EditedText, maxReasonBytes } from "#src/channels/approvalDecisions.ts";
import type { ApproverChoice } from "#src/channels/approvalView.ts";
import { visible } from "#src/html/visible.ts";

/** Maximum number of bytes of a page's form. */
export const maxFormBytes = 8192;

/** Maximum number of bytes of the form of an edit: a text of 256 KB, each byte of which a browser may send as three. */
export const maxEditFormBytes = 3 * 256 * 1024 + maxFormBytes;

/** True for text that could be a token: base64url characters. */
export const isToken = (text: string): boolean => /^[\w-]{20,200}$/.test(text);

/** True for text that could be the token of a list. */
export const isListToken = (text: string): boolean => /^[\w-]{43}$/.test(text);

/** Returns the nonce of a press on the button that undoes an approval or has a link's holder asked again; undefined for other forms. */
export function nonceOf(button: "undo" | "renew", body: unknown): string | undefined {
  const { decision, nonce } = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  if (decision !== button) return undefined;
  return typeof nonce === "string" ? nonce : "";
}

/** `reason`: of a rejection, or the requested changes. `code`: as typed, without blanks; undefined if the field was empty. */
export type DecisionForm = {
  decision: ApproverChoice;
  nonce: string;
  reason: string | undefined;
  code: string | undefined;
};

/**
 * Reads the form. If it is invalid, returns a sentence on what is wrong, and the typed reason, so that the page can show the reason again.
 */
export function readForm(body: unknown): DecisionForm | { refused: string; reason: string } {
  const fields = new Map(Object.entries(typeof body === "object" && body !== null ? body : {}));
  const decision = readDecision(fields.get("decision"));
  const reason = readReason(fields.get("reason"));
  if (decision === undefined)
    return { refused: "We could not tell which button you pressed. Please press it again.", reason };
  if (Buffer.byteLength(reason) > maxReasonBytes) {
    return {
      refused: `The text is too long: at most ${maxReasonBytes.toLocaleString("en")} bytes. Please shorten it and press again.`,
      reason,
    };
  }
  if (decision === "request_changes" && !reason)
    return { refused: "Please write what the agent should change, and press the button again.", reason };
  const nonce = fields.get("nonce");
  return {
    decision,
    nonce: typeof nonce === "string" ? nonce : "",
    reason: decision !== "approve" && reason ? reason : undefined,
    code: readCode(fields.get("code")),
  };
}

const readDecision = (value: unknown): ApproverChoice | undefined =>
  value === "approve" || value === "reject" || value === "request_changes" ? value : undefined;

/** `act`: to preview the edit, to go back to it, or to approve it. `previewed`: hash of the mail that the preview showed. */
export type EditForm = EditedText & {
  act: "preview" | "back" | "send";
  nonce: string;
  previewed: string;
  code: string | undefined;
};

/** Reads the form of an edit; undefined if it does not say which button was pressed. */
export function readEditForm(body: unknown): EditForm | undefined {
  const fields = new Map(Object.entries(typeof body === "object" && body !== null ? body : {}));
  const text = (name: string): string => {
    const value = fields.get(name);
    return typeof value === "string" ? soundText(value) : "";
  };
  const act = fields.get("act");
  if (act !== "preview" && act !== "back" && act !== "send") return undefined;
  return {
    ...{
      act,
      subject: withoutUnseen(text("subject")),
      text: withoutUnseen(text("text")),
      nonce: text("nonce"),
      previewed: text("previewed"),
    },
    code: readCode(fields.get("code")),
  };
}

function readCode(value: unknown): string | undefined {
  const typed = typeof value === "string" ? value.replace(/\s/g, "") : "";
  return typed === "" ? undefined : typed;
}

/** The reason as typed, without carriage returns and control characters. */
function readReason(value: unknown): string {
  return typeof value === "string" ? soundText(value).trim() : "";
}

/**
 * A text without characters that no reader sees. A page writes them out as `[U+202E]`, so a form cannot carry them back: an edit leaves them
 * out, and its preview marks them as removed.
 */
const withoutUnseen = (text: string): string => visible(text).replace(/\[U\+[0-9A-F]{4,6}(?: ×\d+)?\]/g, "");

/** A text without carriage returns and control characters. */
const soundText = (text: string): string => text.replace(/\r\n?/g, "\n").replace(/[^\P{Cc}\t\n]/gu, "");
