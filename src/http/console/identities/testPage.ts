import { isUuid } from "#src/commands/ids.ts";
import { button, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import { Rejected } from "#streams/decider.ts";
import type { Answers } from "../../routes.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleAnswer, shown } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { identityOf } from "./identityPage.ts";
import { asSentence } from "./identityWords.ts";

type Task = Answers["GET /v1/tasks/:task_id"];

/** The outcome of a test notification; the page refreshes itself while it is being sent. */
export async function testPage(
  { channelTests }: Pick<ConsoleDependencies, "channelTests">,
  context: PageContext,
): Promise<ConsoleAnswer> {
  const identity = await identityOf(context);
  const { task_id = "" } = context.params;
  // Refuse tests of other identities, and test mails: this page's sentences do not apply to them.
  const { state: test } = await channelTests.load(isUuid(task_id) ? task_id.toLowerCase() : "");
  if (test.identityId !== identity.id) throw new Rejected("not_found", "no such test");
  const task = await context.ask("GET /v1/tasks/:task_id", { params: { task_id } });
  const path = `/identities/${identity.id}`;
  const here = `${path}/tests/${encodeURIComponent(task_id)}`;
  const { title, tone, says } = outcomeOf(task);
  const moves = task.finished_at === null;
  const main = html`<p><a class="press" href="${path}"><bdi>${shortLine(identity.email_address, 254)}</bdi></a></p>
<div id="result" class="card outcome ${tone}"${moves && html` hx-get="${here}" hx-trigger="every 2s" hx-select="#result" hx-target="#result" hx-swap="outerHTML"`}><h1>${title}</h1>
<p role="status">${says}</p>
<p class="meta">Requested ${when(context, task.created_at)}${task.finished_at !== null && html`, ended ${when(context, task.finished_at)}`}.</p>
${moves && html`<p><a class="press" href="${here}">Look again</a></p>`}</div>
<p><a class="press" href="${path}/approval">Change the channel</a></p>
${form(context, { action: `${path}/test` }, html`<input type="hidden" name="channel" value="${context.query.get("channel") === "secondary" ? "secondary" : "primary"}">`, button("Send another test"))}`;
  return shown({ title, main });
}

/** The status of a test, in words; the provider's answer is quoted. */
export function outcomeOf({ status, error }: Pick<Task, "status" | "error">): {
  title: string;
  tone: "good" | "bad" | "wait";
  says: Markup | string;
} {
  const quoted = html`<bdi class="code">${asSentence(error ?? "")}</bdi>`;
  if (status === "succeeded") {
    const says = "The provider accepted it. Check that the approver has received it: it may be in a spam folder.";
    return { title: "The test was delivered", tone: "good", says };
  }
  if (status === "failed")
    return { title: "The test failed", tone: "bad", says: html`It will not be tried again. ${quoted}` };
  if (error !== null) {
    return {
      title: "The test has not been delivered yet",
      tone: "wait",
      says: html`It will be tried again automatically. ${quoted}`,
    };
  }
  return { title: "The test is on its way", tone: "wait", says: "This takes a few seconds." };
}
