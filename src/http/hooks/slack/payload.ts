import type { EditedText } from "#src/channels/approvalDecisions.ts";
import { editFields } from "#src/channels/slack/editForm.ts";
import { formNames, remembered } from "#src/channels/slack/reasonForm.ts";
import { actions } from "#src/channels/slack/slackCard.ts";
import { shortLine } from "#src/html/visible.ts";

/** The person who clicked, with Slack's id. */
export type SlackPresser = { id: string; name: string; team: string | null };

/** An action of a person in Slack. `token`: from the button or form; only it identifies the draft. */
export type Interaction = { token: string | null; by: SlackPresser; responseUrl: string | null } & (
  | {
      kind: "approve" | "ask_reason" | "ask_changes" | "ask_edit";
      triggerId: string;
      /** The Slack workspace, channel and id of the message with the button. */
      team: string | null;
      chat: string | null;
      messageId: string | null;
    }
  | { kind: "reject" | "request_changes"; reason: string }
  /** `previewed`: hash of the edited draft that the form showed; null in the first form. */
  | { kind: "edit"; edit: EditedText; previewed: string | null }
  /** A link was opened, or the action is unknown. */
  | { kind: "none" }
);

/** Parses the body of a request, which is not trusted yet; undefined if it is not one of Slack's. */
export function readInteraction(body: Buffer): Interaction | undefined {
  const payload = payloadOf(body);
  if (!payload) return undefined;
  const { type, user, team } = payload;
  const by = presserOf(objectOf(user), objectOf(team));
  if (type === "block_actions") return pressOf(payload, by);
  if (type === "view_submission") return submissionOf(payload, by);
  return { kind: "none", token: null, by, responseUrl: null };
}

type Json = Record<string, unknown>;

function payloadOf(body: Buffer): Json | undefined {
  const text = new URLSearchParams(body.toString("utf8")).getAll("payload");
  if (text.length !== 1) return undefined;
  try {
    const value: unknown = JSON.parse(text[0] as string);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

/** Reads a click on exactly one button: with several it would be unclear whose secret must have signed them. */
function pressOf(payload: Json, by: SlackPresser): Interaction {
  const { actions: pressed } = payload;
  const action = Array.isArray(pressed) && pressed.length === 1 ? objectOf(pressed[0]) : {};
  const token = textOf(action.value);
  const responseUrl = textOf(payload.response_url);
  const kind = kinds.get(action.action_id) ?? "none";
  if (kind === "none") return { kind, token, by, responseUrl };
  const container = objectOf(payload.container);
  return {
    ...{ kind, token, by, responseUrl },
    triggerId: textOf(payload.trigger_id) ?? "",
    team: textOf(objectOf(payload.team).id),
    chat: textOf(objectOf(payload.channel).id) ?? textOf(container.channel_id),
    messageId: textOf(objectOf(payload.message).ts) ?? textOf(container.message_ts),
  };
}

const kinds: ReadonlyMap<unknown, "approve" | "ask_reason" | "ask_changes" | "ask_edit"> = new Map([
  [actions.approve, "approve"],
  [actions.reject, "ask_reason"],
  [actions.requestChanges, "ask_changes"],
  [actions.edit, "ask_edit"],
]);

function submissionOf(payload: Json, by: SlackPresser): Interaction {
  const view = objectOf(payload.view);
  const { token = null, responseUrl = null, previewed = null } = remembered(view.private_metadata) ?? {};
  const values = objectOf(objectOf(view.state).values);
  const typedIn = (field: string) => soundText(textOf(objectOf(objectOf(values[field])[field]).value) ?? "");
  if (view.callback_id === formNames.edit) {
    const edit = { subject: typedIn(editFields.subject), text: typedIn(editFields.text) };
    return { kind: "edit", token, by, responseUrl, edit, previewed };
  }
  const form = (["reject", "request_changes"] as const).find((each) => view.callback_id === formNames[each]);
  if (!form) return { kind: "none", token, by, responseUrl };
  return { kind: form, token, by, responseUrl, reason: typedIn(formNames.field) };
}

/** Text as typed, without characters that are invisible or cannot be stored. */
const soundText = (text: string): string =>
  text
    .replace(/\r\n?/g, "\n")
    .replace(/[^\P{Cc}\t\n]/gu, "")
    .replace(/\p{Cs}/gu, "\ufffd")
    .trim();

function presserOf(user: Json, team: Json): SlackPresser {
  const id = shortLine(textOf(user.id) ?? "", 64) || "unknown";
  const name = textOf(user.name) ?? textOf(user.username) ?? id;
  return { id, name: shortLine(name, 100) || id, team: textOf(user.team_id) ?? textOf(team.id) };
}

const objectOf = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};

const textOf = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
