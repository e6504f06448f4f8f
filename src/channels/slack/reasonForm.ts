import { shortLine } from "#src/html/visible.ts";
import { neutral, note, plain } from "./blocks.ts";

/**
 * State that the form carries: the token to decide this one question, and the URL where its card can be changed. Slack returns it
 * unchanged.
 */
export type ReasonFormState = {
  token: string;
  responseUrl: string | null;
  /** Hash of the edited draft that the form shows. */
  previewed?: string;
};

/** Forms that ask for a text: the reason of a rejection, or the changes that the agent should make. */
export type TextForm = "reject" | "request_changes";

/** Slack ids of the forms, of their field, and of the input in it. */
export const formNames = {
  reject: "reject",
  request_changes: "request_changes",
  edit: "edit",
  field: "reason",
} as const;

const texts: Record<TextForm, { title: string; submit: string; label: string; optional: boolean }> = {
  reject: { title: "Reject this draft", submit: "Reject", label: "Why? The agent will see this.", optional: true },
  request_changes: {
    title: "Ask for changes",
    submit: "Ask",
    label: "What should the agent change? You are asked about its next version.",
    optional: false,
  },
};

/** Slack limits a form's state to 3,000 characters. */
const longestUrl = 2_000;

/** Writes a form's state. */
export const formState = ({ token, responseUrl, previewed }: ReasonFormState): string =>
  JSON.stringify({
    token,
    response_url: responseUrl !== null && responseUrl.length <= longestUrl ? responseUrl : null,
    ...(previewed !== undefined && { previewed }),
  });

/** The form that asks for a text. An empty reason rejects without one. */
export const reasonForm = ({
  form,
  token,
  responseUrl,
  threadSubject,
}: ReasonFormState & { form: TextForm; threadSubject: string }) => ({
  type: "modal",
  callback_id: formNames[form],
  private_metadata: formState({ token, responseUrl }),
  title: plain(texts[form].title),
  submit: plain(texts[form].submit),
  close: plain("Cancel"),
  blocks: [
    note(`Subject: ${neutral(shortLine(threadSubject, 200)) || "(no subject)"}`),
    {
      type: "input",
      block_id: formNames.field,
      optional: texts[form].optional,
      label: plain(texts[form].label),
      element: { type: "plain_text_input", action_id: formNames.field, multiline: true, max_length: 2_000 },
    },
  ],
});

/** Reads a form's state; undefined for a form that is not ours. */
export function remembered(privateMetadata: unknown): ReasonFormState | undefined {
  if (typeof privateMetadata !== "string") return undefined;
  try {
    const { token, response_url: responseUrl, previewed } = JSON.parse(privateMetadata) as Record<string, unknown>;
    if (typeof token !== "string") return undefined;
    return {
      token,
      responseUrl: typeof responseUrl === "string" ? responseUrl : null,
      ...(typeof previewed === "string" && { previewed }),
    };
  } catch {
    return undefined;
  }
}
