import type { EditedText } from "../approvalDecisions.ts";
import { escaped, neutral, sections } from "./blocks.ts";
import { editForm } from "./editForm.ts";
import { type ReasonFormState, reasonForm, type TextForm } from "./reasonForm.ts";
import type { SlackApi } from "./slackApi.ts";
import { concludedMessage, link } from "./slackCard.ts";
import { apiOf, isResponseUrl } from "./slackHosts.ts";

/** Replies to a press, besides its acknowledgement. None of them throws: the decision is already recorded. */
export type SlackReplies = {
  /** Replaces the card by a sentence. */
  conclude(responseUrl: string | null, what: { sentence: string; threadSubject: string }): Promise<void>;
  /** Shows a message to the person who pressed, and leaves the card unchanged. `page`: where they can continue. */
  tell(responseUrl: string | null, what: { sentence: string; page?: { url: string; name: string } }): Promise<void>;
  /** Opens the form that asks for the reason; false if it cannot be opened. Slack accepts the request for 3 s after the press. */
  openReasonForm(form: FormOpening & { form: TextForm }): Promise<boolean>;
  /** Opens the form that edits the draft, under the same conditions. */
  openEditForm(form: FormOpening & { edit: EditedText }): Promise<boolean>;
};

type FormOpening = ReasonFormState & {
  /** The channel's config, decrypted. */
  config: Record<string, string>;
  triggerId: string;
  threadSubject: string;
};

const openWithinMs = 2_800;

export function slackReplies({ post, hosts }: Pick<SlackApi, "post" | "hosts">): SlackReplies {
  async function respond(responseUrl: string | null, body: object): Promise<void> {
    const url = responseUrl !== null && URL.canParse(responseUrl) ? new URL(responseUrl) : undefined;
    if (url && isResponseUrl(url, hosts)) await post(url, body);
  }

  async function openForm({ config, triggerId }: FormOpening, view: object): Promise<boolean> {
    const { bot_token: token, webhook_url: webhook = "" } = config;
    if (!token || !URL.canParse(webhook)) return false;
    const method = new URL("views.open", apiOf(new URL(webhook)));
    const signal = AbortSignal.timeout(openWithinMs);
    const answer = await post(method, { trigger_id: triggerId, view }, { token, signal });
    return answer.ok;
  }

  return {
    conclude: (responseUrl, what) => respond(responseUrl, { replace_original: true, ...concludedMessage(what) }),
    async tell(responseUrl, { sentence, page }) {
      const text = neutral(sentence);
      const more = page ? ` ${link(page.url, page.name)}` : "";
      const blocks = [
        ...sections(text),
        ...(page ? [{ type: "section", text: { type: "mrkdwn", text: link(page.url, page.name) } }] : []),
      ];
      await respond(responseUrl, {
        replace_original: false,
        response_type: "ephemeral",
        text: `${escaped(text)}${more}`,
        blocks,
      });
    },
    openReasonForm: (form) => openForm(form, reasonForm(form)),
    openEditForm: (form) => openForm(form, editForm(form)),
  };
}
