import { shortLine } from "#src/html/visible.ts";
import { neutral, note, plain } from "./blocks.ts";

/**
 * State that the form carries: the token to reject this one question, and the URL where its card can be changed. Slack returns it
 * unchanged.
 */
export type ReasonFormState = { token: string; responseUrl: string | null };

/** Slack ids of the form, its field, and the input in it. */
export const reasonNames = { form: "reject", field: "reason" } as const;

/** Slack limits a form's state to 3,000 characters. */
const longestUrl = 2_000;

/** The form that asks for a reason. An empty field rejects without one. */
export const reasonForm = ({ token, responseUrl, threadSubject }: ReasonFormState & { threadSubject: string }) => ({
  type: "modal",
  callback_id: reasonNames.form,
  private_metadata: JSON.stringify({
    token,
    response_url: responseUrl !== null && responseUrl.length <= longestUrl ? responseUrl : null,
  }),
  title: plain("Reject this draft"),
  submit: plain("Reject"),
  close: plain("Cancel"),
  blocks: [
    note(`Subject: ${neutral(shortLine(threadSubject, 200)) || "(no subject)"}`),
    {
      type: "input",
      block_id: reasonNames.field,
      optional: true,
      label: plain("Why? The agent will see this."),
      element: { type: "plain_text_input", action_id: reasonNames.field, multiline: true, max_length: 2_000 },
    },
  ],
});

/** Reads a form's state; undefined for a form that is not ours. */
export function remembered(privateMetadata: unknown): ReasonFormState | undefined {
  if (typeof privateMetadata !== "string") return undefined;
  try {
    const { token, response_url: responseUrl } = JSON.parse(privateMetadata) as Record<string, unknown>;
    if (typeof token !== "string") return undefined;
    return { token, responseUrl: typeof responseUrl === "string" ? responseUrl : null };
  } catch {
    return undefined;
  }
}
