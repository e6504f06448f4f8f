import { messageById } from "#projections/messages/queries.ts";
import type { Reply } from "../../framework/reply.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleRoute, consoleForm, consolePage, download, seeOther, shown } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { threadsPage } from "./listPage.ts";
import { threadsView } from "./listView.ts";
import { sourcePage } from "./sourcePage.ts";
import { readerOf, threadPage, threadTitle } from "./threadPage.ts";
import { threadView } from "./threadView.ts";
import { threadAgain, writeReply } from "./writeReply.ts";

/** Pages for conversations: the list, each one with its messages, and downloads of messages. */
export const threadPages = (deps: ConsoleDependencies): ConsoleRoute[] => [
  consolePage("GET /threads", async (context) => {
    const view = await threadsView(deps, context);
    return shown({
      title: view.refused ? "Not searched: Conversations" : "Conversations",
      main: threadsPage(view, context),
      wide: true,
      ...(view.refused && { status: view.refused.status }),
    });
  }),

  consolePage("GET /threads/:id", async (context) => {
    const view = await threadView(deps, context);
    return shown({ title: threadTitle(view), main: threadPage(view, readerOf(context)), wide: true });
  }),

  consoleForm("POST /threads/:id", async (context) => {
    const { id } = context.params as { id: string };
    const refused = await context.attempt(() =>
      context.ask("PATCH /v1/threads/:id", { params: { id }, body: changesIn(context) }),
    );
    if (!refused) return seeOther(`/threads/${id}`, "saved");
    return threadAgain(deps, context, { status: refused.status, changeRefused: refused });
  }),

  consoleForm("POST /threads/:id/reply", (context) => writeReply(deps, context), { once: true }),

  consoleForm("POST /threads/:id/undo", async (context) => {
    const { id } = context.params as { id: string };
    const draftId = context.form.get("draft_id") ?? "";
    const refused = await context.attempt(() => context.ask("POST /v1/drafts/:id/undo", { params: { id: draftId } }));
    if (!refused) return seeOther(`/threads/${id}`, "replyTakenBack");
    return threadAgain(deps, context, { status: refused.status, changeRefused: refused });
  }),

  consolePage("GET /messages/:id/source", async (context) => {
    const { id } = context.params as { id: string };
    const { content } = await rawOf(context, id);
    const message = await messageById(deps.reads, context.principal.workspaceId, id);
    const bytes = "bytes" in content ? content.bytes : Buffer.alloc(0);
    const view = { messageId: id, threadId: message?.thread_id ?? "", subject: message?.subject ?? "", bytes };
    return shown({ title: "Source of a message", main: sourcePage(view), current: "/threads", wide: true });
  }),

  consolePage("GET /messages/:id/raw", async (context) => download(await rawOf(context, context.params.id as string))),

  consolePage("GET /messages/:id/attachments/:attachment_id", async (context) => {
    const { id, attachment_id } = context.params as { id: string; attachment_id: string };
    return download(
      await context.askRaw("GET /v1/messages/:id/attachments/:attachment_id", { params: { id, attachment_id } }),
    );
  }),
];

const rawOf = (context: PageContext, id: string): Promise<Reply> =>
  context.askRaw("GET /v1/messages/:id/raw", { params: { id } });

/** The fields in the form; absent ones stay unchanged. */
function changesIn({ form }: PageContext): Record<string, unknown> {
  const review = form.get("needs_review");
  return {
    ...given(form, "status"),
    ...given(form, "priority"),
    ...(review !== null && { needs_review: review === "true" ? true : review === "false" ? false : review }),
  };
}

const given = (form: URLSearchParams, name: string): Record<string, string> => {
  const value = form.get(name);
  return value === null ? {} : { [name]: value };
};
